#include "audit/reader_audit.hpp"

#include <algorithm>
#include <cmath>

#include "audit/field_table.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

Runs table_of(const std::vector<PublicFields>& runs, const FieldTable& columns) {
  Runs table(static_cast<Eigen::Index>(runs.size()), static_cast<Eigen::Index>(columns.columns().size()));
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::vector<double> row = columns.row(runs[run]);
    std::copy(row.begin(), row.end(), table.row(static_cast<Eigen::Index>(run)).begin());
  }
  return table;
}

}  // namespace

std::size_t reader_runs(double mu) {
  const double rare = 0.5 * std::erfc(mu / 2 / std::sqrt(2.0));  // Phi(-mu / 2)
  return static_cast<std::size_t>(std::clamp(25.0 / rare, 120.0, 6000.0));
}

ReaderLoss audit_by_reading(const ReadRun& read_run, const ReaderTerms& terms) {
  DPREDUCE_ASSERT(terms.runs_per_world >= 12);
  // 0 1 1 0 0 1 1 0 ...: so what drifts with time reveals nothing of the world.
  std::vector<PublicFields> worlds[2];
  for (std::size_t run = 0; run < 2 * terms.runs_per_world; ++run) {
    const bool has_canary = run % 4 == 1 || run % 4 == 2;
    worlds[has_canary ? 1 : 0].push_back(read_run(has_canary ? World::kWithCanary : World::kWithoutCanary));
  }
  // Runs that attacks are learned from decide on columns, and none that is counted.
  std::vector<const PublicFields*> learning;
  for (const auto& runs : worlds) {
    for (std::size_t run = 0; run < runs.size() / kShareToLearn; ++run) learning.push_back(&runs[run]);
  }
  const FieldTable columns(learning);
  const Runs without = table_of(worlds[0], columns);
  const Runs with = table_of(worlds[1], columns);
  const std::vector<View> all{{0, columns.columns().size(), ViewKind::kFewOfMany}};
  ReaderLoss loss{.proven = proven_loss(without, with, all, terms.delta, terms.error),
                  .fields = columns.columns().size(),
                  .strongest = {}};
  const auto learned = [](const Runs& runs) -> Runs { return runs.topRows(runs.rows() / kShareToLearn); };
  const std::vector<Eigen::Index> best = strongest_columns(learned(without), learned(with), 1);
  if (!best.empty()) loss.strongest = columns.columns()[static_cast<std::size_t>(best.front())];
  return loss;
}

}  // namespace dpreduce
