#include "worker/statistic_inputs.hpp"

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

void for_each_whole_chunk(const StatisticInputs& inputs, const std::function<void(const LatticeRows&)>& visit) {
  if (inputs.kept.empty()) {
    for_each_lattice_chunk(inputs.rows, inputs.transform, inputs.plan, visit, inputs.on_chunk);
    return;
  }
  double done = 0.0;
  for (const LatticeRows& chunk : inputs.kept) {
    visit(chunk);
    done += 1.0;
    inputs.on_chunk(done / static_cast<double>(inputs.kept.size()));
  }
}

}  // namespace

const GradientPoint& gradient_point(const StatisticInputs& inputs) {
  const auto* const point = std::get_if<GradientPoint>(&inputs.point);
  DPREDUCE_ASSERT(point != nullptr && point->weights.dim() == inputs.transform.output_dim());
  return *point;
}

void for_each_chunk(const StatisticInputs& inputs, const std::function<void(const LatticeRows&)>& visit) {
  if (!inputs.sample) return for_each_whole_chunk(inputs, visit);
  RowCoins coins = inputs.sample->coins();
  std::optional<LatticeRows> drawn;
  for_each_whole_chunk(inputs, [&](const LatticeRows& chunk) {
    if (!drawn) drawn.emplace(chunk.lattice(), kDrawnRowsAtOnce, chunk.labels_per_row());
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (!coins.next()) continue;
      drawn->append(chunk, row);
      if (drawn->rows() < kDrawnRowsAtOnce) continue;
      visit(*drawn);
      drawn->clear();
    }
  });
  if (drawn && drawn->rows() > 0) visit(*drawn);
}

}  // namespace dpreduce
