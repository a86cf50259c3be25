#include "worker/statistic_entry.hpp"

#include <algorithm>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

void for_each_whole_chunk(const StatisticInputs& inputs, const std::function<void(const LatticeRows&)>& visit) {
  if (inputs.kept.empty()) {
    for_each_lattice_chunk(inputs, visit);
    return;
  }
  double done = 0.0;
  for (const LatticeRows& chunk : inputs.kept) {
    visit(chunk);
    done += 1.0;
    inputs.on_chunk(done / static_cast<double>(inputs.kept.size()));
  }
}

// Gathers drawn rows, and shows them when there is no room for more.
class DrawnRows {
 public:
  DrawnRows(std::size_t capacity, const std::function<void(const LatticeRows&)>& visit)
      : capacity_(capacity), visit_(visit) {}

  // Rows [first, end) of the chunk, which stay together.
  void append(const LatticeRows& chunk, std::size_t first, std::size_t end) {
    if (!rows_) rows_.emplace(chunk.lattice(), capacity_, chunk.labels_per_row());
    if (rows_->rows() + end - first > capacity_) show();
    for (std::size_t row = first; row < end; ++row) rows_->append(chunk, row);
  }
  void show() {
    if (!rows_ || rows_->rows() == 0) return;
    visit_(*rows_);
    rows_->clear();
  }

 private:
  std::size_t capacity_;
  const std::function<void(const LatticeRows&)>& visit_;
  std::optional<LatticeRows> rows_;
};

// One coin a unit.
void for_each_drawn_unit(const StatisticInputs& inputs, DrawnRows& drawn) {
  const WorkerRows& rows = inputs.rows;
  const std::vector<char> units = inputs.sample->drawn_units(rows.units().first_rows);
  for_each_whole_chunk(inputs, [&](const LatticeRows& chunk) {
    for (std::size_t first = 0; first < chunk.rows();) {
      const std::size_t end = rows.goes_by_unit() ? chunk.end_of_unit(first) : first + 1;
      if (units[chunk.unit(first)] != 0) drawn.append(chunk, first, end);
      first = end;
    }
  });
}

void for_each_drawn_row(const StatisticInputs& inputs, DrawnRows& drawn) {
  RowCoins coins = inputs.sample->coins();
  for_each_whole_chunk(inputs, [&](const LatticeRows& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (coins.next()) drawn.append(chunk, row, row + 1);
    }
  });
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
  DrawnRows drawn(rows.goes_by_unit() ? std::max(kDrawnRowsAtOnce, rows.by_unit().largest) : kDrawnRowsAtOnce, visit);
  rows.has_units() ? for_each_drawn_unit(inputs, drawn) : for_each_drawn_row(inputs, drawn);
  drawn.show();
}

std::vector<LabelExchange> label_exchanges(std::uint64_t classes, std::uint64_t most_labels) {
  if (most_labels == 1) return {{"another row of the same class", 1, 0}, {"another class", 0, 2}};
  std::vector<LabelExchange> corners{{"another row of the same classes", most_labels, 0},
                                     {"other classes", 0, std::min(2 * most_labels, classes)}};
  if (2 * most_labels > classes && most_labels < classes) {
    corners.push_back({"some other classes", 2 * most_labels - classes, 2 * (classes - most_labels)});
  }
  return corners;
}

SensitivityProfile largest_of_each_block(const std::vector<SensitivityProfile>& profiles) {
  SensitivityProfile largest{"another person", profiles.front().squared_l2};
  for (const SensitivityProfile& profile : profiles) {
    for (std::size_t block = 0; block < largest.squared_l2.size(); ++block) {
      largest.squared_l2[block] = std::max(largest.squared_l2[block], profile.squared_l2[block]);
    }
  }
  return largest;
}

}  // namespace dpreduce
