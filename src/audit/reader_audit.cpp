#include "audit/reader_audit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "audit/field_table.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostColumns = 256;  // more than are attacked

Runs table_of(const std::vector<std::vector<double>>& rows) {
  Runs table(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(rows.front().size()));
  for (std::size_t run = 0; run < rows.size(); ++run) {
    std::copy(rows[run].begin(), rows[run].end(), table.row(static_cast<Eigen::Index>(run)).begin());
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
  const std::size_t to_learn = 2 * (terms.runs_per_world / kShareToLearn);
  std::vector<std::pair<World, PublicFields>> learning;
  std::size_t runs = 0;
  // 0 1 1 0 0 1 1 0 ...: so what drifts with time reveals nothing of the world.
  const auto next_world = [&] {
    const std::size_t place = runs++ % 4;
    return place == 1 || place == 2 ? World::kWithCanary : World::kWithoutCanary;
  };
  // Runs that attacks are learned from decide on columns, and none that is counted.
  while (learning.size() < to_learn) {
    const World world = next_world();
    learning.emplace_back(world, read_run(world));
  }
  std::vector<const PublicFields*> fields;
  for (const auto& [world, of_run] : learning) fields.push_back(&of_run);
  const FieldTable columns(fields);
  std::vector<std::vector<double>> worlds[2];
  for (const auto& [world, of_run] : learning) worlds[static_cast<int>(world)].push_back(columns.row(of_run));
  const std::vector<Eigen::Index> best = strongest_columns(table_of(worlds[0]), table_of(worlds[1]), kMostColumns);
  ReaderLoss loss{.proven = {}, .fields = columns.columns().size(), .strongest = {}};
  if (best.empty()) return loss;
  loss.strongest = columns.columns()[static_cast<std::size_t>(best.front())];

  const auto kept = [&](const std::vector<double>& row) {
    std::vector<double> of_best;
    for (const Eigen::Index column : best) of_best.push_back(row[static_cast<std::size_t>(column)]);
    return of_best;
  };
  for (auto& world : worlds) std::transform(world.begin(), world.end(), world.begin(), kept);
  while (runs < 2 * terms.runs_per_world) {
    const World world = next_world();
    worlds[static_cast<int>(world)].push_back(kept(columns.row(read_run(world))));
  }
  const std::vector<View> all{{0, best.size(), ViewKind::kFewOfMany}};
  loss.proven = proven_loss(table_of(worlds[0]), table_of(worlds[1]), all, terms.delta, terms.error);
  return loss;
}

}  // namespace dpreduce
