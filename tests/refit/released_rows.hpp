// Statistics that a run released, and fits to compare refits with.
#pragma once

#include "common/model/classifier_file.hpp"
#include "refit/refit.hpp"
#include "tests/fit/fitted_rows.hpp"

namespace dpreduce {

/// What `options` release of the rows, as read from a file.
inline KeptStatistics released_by(const FitOptions& options, const RowsInMemory& rows) {
  StatisticsKeeper keeper;
  const FittedRun run = fitted_run(options, rows, Accounts::kLedger,
                                   {.observer = [&](const WatchedRelease& watched) { keeper.add(watched); }});
  return statistics_from_bytes(to_bytes(keeper.taken(*run.fit)), "statistics");
}

/// A release, with seeded noise, of those statistics.
inline FitOptions seeded_release(std::vector<StatisticKind> kinds, const TemporaryFolder& folder) {
  FitOptions options = seeded_fit(std::string(release_method.name), folder);
  options.statistics = std::move(kinds);
  return options;
}

}  // namespace dpreduce
