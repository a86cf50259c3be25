#include "tests/audit/readers/reader_audit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "audit/confidence_bounds.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kColumnsOverAll = 3;
constexpr std::size_t kFewColumns = 8;  // which are attacked
// Far below any noise (scaled to 1), far above the rounding of the sums behind a variance.
constexpr double kRidge = 1e-9;

// The columns, at most so many, in which the worlds' means differ most for their standard deviation, the best first.
// Columns without a difference are left out.
std::vector<std::size_t> strongest_columns(const Runs& world_0, const Runs& world_1, std::size_t most) {
  DPREDUCE_ASSERT(world_0.size() >= 2 && world_1.size() >= 2);
  const auto mean = [](const Runs& runs, const auto& of_run) {
    return std::accumulate(runs.begin(), runs.end(), 0.0,
                           [&](double sum, const std::vector<double>& run) { return sum + of_run(run); }) /
           static_cast<double>(runs.size());
  };
  std::vector<double> strength(world_0.front().size());
  std::vector<std::size_t> order;
  for (std::size_t c = 0; c < strength.size(); ++c) {
    const auto column = [c](const std::vector<double>& run) { return run.at(c); };
    const double means[2] = {mean(world_0, column), mean(world_1, column)};
    const double difference = std::abs(means[1] - means[0]);
    if (difference == 0.0) continue;
    const auto square_about = [&](double center) {
      return [&column, center](const std::vector<double>& run) { return std::pow(column(run) - center, 2); };
    };
    const double variance = (mean(world_0, square_about(means[0])) + mean(world_1, square_about(means[1]))) / 2;
    // Of columns without any noise none is better than another.
    strength[c] = difference / std::sqrt(variance + kRidge * difference * difference);
    order.push_back(c);
  }
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t c) { return strength[c]; });
  order.resize(std::min(order.size(), most));
  return order;
}

}  // namespace

FieldTable::FieldTable(const std::vector<const PublicFields*>& runs)
    : columns_{"how many words differ", "how many fields there are", "how many fields are new"} {
  DPREDUCE_ASSERT(!runs.empty());
  DPREDUCE_ASSERT(columns_.size() == kColumnsOverAll);
  for (const auto& [path, word] : runs.front()->words()) words_.emplace(path, word);
  for (const PublicFields* run : runs) {
    for (const auto& [path, value] : run->numbers()) {
      if (!number_places_.emplace(path, columns_.size()).second) continue;
      columns_.push_back(path);
      columns_.push_back(path + ": is there");
    }
    for (const auto& [path, word] : run->words()) {
      if (!word_places_.emplace(path, columns_.size()).second) continue;
      columns_.push_back(path + ": the usual word");
      columns_.push_back(path + ": which field it equals");
    }
  }
}

std::vector<double> FieldTable::row(const PublicFields& run) const {
  std::vector<double> row(columns_.size(), 0.0);
  double &different = row[0], &fields = row[1], &unknown = row[2];
  fields = static_cast<double>(run.numbers().size() + run.words().size());
  for (const auto& [path, value] : run.numbers()) {
    const auto place = number_places_.find(path);
    if (place == number_places_.end()) {
      ++unknown;
      continue;
    }
    row[place->second] = value;
    row[place->second + 1] = 1.0;
  }
  std::unordered_map<std::string_view, double> first_place;
  double position = 0.0;
  for (const auto& [path, word] : run.words()) {
    ++position;
    const auto [first, is_new] = first_place.emplace(word, position);
    different += is_new ? 1.0 : 0.0;
    const auto place = word_places_.find(path);
    if (place == word_places_.end()) {
      ++unknown;
      continue;
    }
    const auto usual = words_.find(path);
    row[place->second] = usual != words_.end() && usual->second == word ? 1.0 : 0.0;
    row[place->second + 1] = is_new ? -1.0 : first->second;
  }
  return row;
}

std::optional<std::size_t> reader_runs(const Guarantee& claim, double error) {
  const auto proves_too_little = [&](std::size_t runs) {
    const std::size_t counted = runs - runs / 2;
    const AttackCounts all_right{counted, counted, 0, counted};
    const bool refutes_mu = claim.mu && mu_lower_bound(all_right, error / 2) > *claim.mu;
    return !refutes_mu && epsilon_lower_bound(all_right, Side::kAccusals, claim.delta, error / 2) <= claim.epsilon;
  };
  std::vector<std::size_t> runs(kMostReaderRuns - kRunsToLearn + 1);
  std::iota(runs.begin(), runs.end(), kRunsToLearn);
  const auto enough = std::ranges::partition_point(runs, proves_too_little);
  return enough == runs.end() ? std::nullopt : std::optional(*enough);
}

ReaderLoss audit_by_reading(const ReadRun& read_run, const ReaderTerms& terms) {
  DPREDUCE_ASSERT(terms.runs_per_world >= kFewestReaderRuns);
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
  Runs worlds[2];
  for (const auto& [world, of_run] : learning) worlds[static_cast<int>(world)].push_back(columns.row(of_run));
  const std::vector<std::size_t> best = strongest_columns(worlds[0], worlds[1], kFewColumns);
  ReaderLoss loss{.proven = {}, .fields = columns.columns().size(), .strongest = {}};
  if (best.empty()) return loss;
  loss.strongest = columns.columns()[best.front()];

  const auto kept = [&](const std::vector<double>& row) {
    std::vector<double> of_best;
    for (const std::size_t column : best) of_best.push_back(row[column]);
    return of_best;
  };
  for (auto& world : worlds) std::transform(world.begin(), world.end(), world.begin(), kept);
  while (runs < 2 * terms.runs_per_world) {
    const World world = next_world();
    worlds[static_cast<int>(world)].push_back(kept(columns.row(read_run(world))));
  }
  const std::vector<View> views{{0, 1}, {0, best.size()}};
  loss.proven = proven_loss(worlds[0], worlds[1], views, terms.delta, terms.error);
  return loss;
}

}  // namespace dpreduce
