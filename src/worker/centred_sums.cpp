#include "worker/centred_sums.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "common/base/error.hpp"
#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {
namespace {

constexpr std::int64_t kSquaredLatticeNorm = kLatticeNorm * kLatticeNorm;
// Centres of noise alone may lie anywhere; differences from rows stay within 32 bits and their squares within 64.
constexpr double kFarthest = 1 << 20;
// For the roundings of f and of its product.
constexpr double kBelowOne = 1.0 - 0x1p-50;

/// Centres and radii in lattice units.
struct LatticeBalls {
  LatticeBalls(const ClassBalls& balls, const Lattice& lattice) {
    for (const double entry : balls.centers) {
      centers.push_back(
          static_cast<std::int32_t>(std::round(std::clamp(entry * lattice.scale(), -kFarthest, kFarthest))));
    }
    for (const double radius : balls.radii) radii.push_back(radius * lattice.scale());
  }
  std::vector<std::int32_t> centers;
  std::vector<double> radii;
};

// q becomes the row about its centre, on the ball's own lattice.
void centre_row(std::span<const std::int16_t> row, std::span<const std::int32_t> center, double radius,
                std::span<std::int16_t> q) {
  std::int64_t squared = 0;
  for (std::size_t a = 0; a < row.size(); ++a) {
    const std::int64_t difference = std::int64_t{row[a]} - center[a];
    squared += difference * difference;
  }
  const double factor =
      static_cast<double>(kLatticeNorm) / std::max(std::sqrt(static_cast<double>(squared)), radius) * kBelowOne;
  std::int64_t kept = 0;
  for (std::size_t a = 0; a < row.size(); ++a) {
    q[a] = static_cast<std::int16_t>(factor * static_cast<double>(std::int64_t{row[a]} - center[a]));
    kept += std::int64_t{q[a]} * q[a];
  }
  if (kept > kSquaredLatticeNorm) std::fill(q.begin(), q.end(), std::int16_t{0});
}

}  // namespace

Statistic centred_sums_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const Lattice lattice{inputs.transform.preprocessing().clip_norm, inputs.transform.output_dim()};
  const std::size_t dim = lattice.dim;
  DPREDUCE_ASSERT(inputs.plan.labels_per_row == 1 && inputs.balls != nullptr);
  DPREDUCE_ASSERT(inputs.balls->radii.size() == inputs.plan.classes);
  DPREDUCE_ASSERT(inputs.balls->centers.size() == inputs.plan.classes * dim);
  const LatticeBalls balls(*inputs.balls, lattice);
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> sums = statistic.block(statistic.index_of("centred_sums"));
  const std::span<std::int64_t> counts = statistic.block(statistic.index_of("class_counts"));
  std::vector<std::int16_t> q(dim);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const std::span<const std::int32_t> classes = chunk.classes_of(row);
      if (classes.empty()) continue;
      const auto label = static_cast<std::size_t>(classes.front());
      centre_row(chunk.row(row), std::span(balls.centers).subspan(label * dim, dim), balls.radii[label], q);
      for (std::size_t a = 0; a < dim; ++a) sums[label * dim + a] += q[a];
      ++counts[label];
    }
  });
  return statistic;
}

}  // namespace dpreduce
