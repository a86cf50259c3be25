#include "worker/statistic_entry.hpp"

#include <algorithm>
#include <utility>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

void for_each_whole_chunk(const StatisticInputs& inputs, const std::function<void(const LatticeRows&)>& visit) {
  if (inputs.kept.empty()) return for_each_lattice_chunk(inputs, visit);
  double done = 0.0;
  for (const LatticeRows& chunk : inputs.kept) {
    visit(chunk);
    done += 1.0;
    inputs.on_chunk(done / static_cast<double>(inputs.kept.size()));
  }
}

// Gathers drawn rows, and shows them when there is no room for more. One coin a unit, or else a row.
void for_each_drawn_chunk(const StatisticInputs& inputs, const std::function<void(const LatticeRows&)>& visit) {
  const WorkerRows& rows = inputs.rows;
  const bool has_units = rows.has_units();
  const bool stays_together = has_units && rows.goes_by_unit();
  const std::size_t capacity = stays_together ? std::max(kDrawnRowsAtOnce, rows.by_unit().largest) : kDrawnRowsAtOnce;
  std::vector<char> units;
  if (has_units) units = inputs.sample->drawn_units(rows.units().first_rows);
  RowCoins coins = inputs.sample->coins();
  LatticeRows drawn(inputs.lattice(), capacity, inputs.slots_per_row());
  for_each_whole_chunk(inputs, [&](const LatticeRows& chunk) {
    for (std::size_t first = 0, end = 0; first < chunk.rows(); first = end) {
      end = stays_together ? chunk.end_of_unit(first) : first + 1;
      if (has_units ? units[chunk.unit(first)] == 0 : !coins.next()) continue;
      if (drawn.rows() + end - first > capacity) {
        visit(drawn);
        drawn.clear();
      }
      for (std::size_t row = first; row < end; ++row) drawn.append(chunk, row);
    }
  });
  if (drawn.rows() > 0) visit(drawn);
}

}  // namespace

const GradientPoint& gradient_point(const StatisticInputs& inputs) {
  const auto* const point = std::get_if<GradientPoint>(&inputs.point);
  DPREDUCE_ASSERT(point != nullptr && point->weights.dim() == inputs.transform.output_dim());
  return *point;
}

void for_each_chunk(const StatisticInputs& inputs, const std::function<void(const LatticeRows&)>& visit) {
  if (!inputs.sample) return for_each_whole_chunk(inputs, visit);
  WorkerRows& rows = inputs.rows;
  const StreamPlan& plan = inputs.plan;
  const std::size_t bytes_of_drawn_row = bytes_per_row(inputs.transform.preprocessing(), plan.labels_per_row) +
                                         sizeof(float) * inputs.transform.input_dim();
  if (inputs.kept.empty() && inputs.are_checked && rows.has_labels() && !rows.has_units() &&
      plan.memory_bytes >= bytes_of_drawn_row) {
    RowCoins coins = inputs.sample->coins();
    const auto is_drawn = [&](std::span<const std::int32_t>) { return coins.next(); };
    return for_each_lattice_chunk_of(is_drawn, inputs, visit);
  }
  for_each_drawn_chunk(inputs, visit);
}

std::vector<SensitivityProfile> profiles_of(const ReleaseTerms& terms, std::vector<std::uint64_t> one_row,
                                            std::vector<SensitivityProfile> exchanges, bool holds_powers) {
  if (terms.adjacency == Adjacency::kAddRemove) return {{"one row more or less", std::move(one_row)}};
  if (!holds_powers || !terms.has_units) return exchanges;
  SensitivityProfile largest{"another person", exchanges.front().squared_l2};
  for (const SensitivityProfile& exchange : exchanges) {
    std::ranges::transform(largest.squared_l2, exchange.squared_l2, largest.squared_l2.begin(), std::ranges::max);
  }
  return {largest};
}

}  // namespace dpreduce
