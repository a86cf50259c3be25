// A fit, and the statistics that it released.
#pragma once

#include <optional>
#include <vector>

#include "common/model/classifier_file.hpp"
#include "fit/validated_options.hpp"
#include "methods/registry.hpp"
#include "refit/kept_statistics.hpp"
#include "refit/refit.hpp"
#include "tests/fit/fitted_rows.hpp"

namespace dpreduce {

struct KeptFit {
  std::vector<std::byte> model;
  KeptStatistics statistics;
};

/// What `options` make of the rows, with statistics as they are read from their file.
inline KeptFit kept_fit(FitOptions options, const FittedRows& rows) {
  if (options.statistics.empty()) options.output.statistics = "kept";
  StatisticsKeeper keeper;
  Communicator alone = Communicator::alone();
  FittedRun run = fit(options, rows.all(), alone, Accounts::kLedger,
                      {.observer = [&](const WatchedRelease& watched) { keeper.add(watched); }});
  run.finish();
  return {to_bytes(run.classifier), statistics_from_bytes(to_bytes(keeper.taken(*run.fit)), "statistics")};
}

/// A release, with seeded noise, of those statistics.
inline FitOptions seeded_release(std::vector<StatisticKind> kinds, const TemporaryFolder& folder) {
  FitOptions options = seeded_fit(std::string(release_method().name), folder);
  options.statistics = std::move(kinds);
  return options;
}

}  // namespace dpreduce
