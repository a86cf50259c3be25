// Release "centred_sums", `rounds` times, at public balls, for rows of at most one class: sums of rows about a public
// center of their class, clipped to a public ball, which a mean is refined with.
//
//     centred_sums_c = sum_{i : y_i = c} round_to_zero(f_i v_i),   v_i = q_i - z_c,   f_i = S / max(|v_i|, T_c)
//     class_counts_c = #{i : y_i = c}
//
// Legend: q a lattice row, z_c the center of class c on the same lattice, T_c its ball's radius in lattice units, S =
// 32767. Rows of the ball are scaled by S / T_c, so that every ball has the lattice's norm, and with it one noise: in
// feature units noise shrinks with the ball. Rounding to zero never makes a row longer, and |f_i v_i| <= S is checked
// in integers all the same; a row that fails counts without a sum.
//
// Sensitivity, squared, whatever the centers and radii: that of the release "class_means" with counts and one class a
// row (class_means.hpp), since a row adds to its own class a vector of norm at most S, and 1.
// Persons: weighed, sums and counts alike, so that means are of both.
// Source: [biswas2020], CoinPress, the clipped step of Algorithm 3.
#include "worker/statistics/centered_sums.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "common/base/error.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/plan/empty_statistic.hpp"
#include "common/plan/metric.hpp"
#include "worker/row_sensitivity.hpp"
#include "worker/statistics/class_means.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace centered_sums_entry {

// Centers of noise alone may lie anywhere.
constexpr double kFarthest = 1 << 20;
// For the roundings of f and of its product.
constexpr double kBelowOne = 1.0 - 0x1p-50;

}  // namespace centered_sums_entry

LatticeBalls::LatticeBalls(const ClassBalls& balls, const Lattice& lattice) {
  using centered_sums_entry::kFarthest;
  // Far below any clip norm, and above where a row at the center would be multiplied by infinity.
  const auto is_radius = [](double radius) { return radius >= 1e-100 && std::isfinite(radius); };
  if (!std::ranges::all_of(balls.centers, [](double entry) { return std::isfinite(entry); }) ||
      !std::ranges::all_of(balls.radii, is_radius)) {
    throw AggregationAborted("the coordinator's balls are out of range");  // silos need not trust it
  }
  for (const double entry : balls.centers) {
    centers.push_back(
        static_cast<std::int32_t>(std::round(std::clamp(entry * lattice.scale(), -kFarthest, kFarthest))));
  }
  for (const double radius : balls.radii) radii.push_back(radius * lattice.scale());
}

void center_row(std::span<const std::int16_t> row, std::span<const std::int32_t> center, double radius,
                std::span<std::int16_t> q) {
  std::int64_t squared = 0;
  for (std::size_t a = 0; a < row.size(); ++a) {
    const std::int64_t difference = std::int64_t{row[a]} - center[a];
    squared += difference * difference;
  }
  const double factor = static_cast<double>(kLatticeNorm) / std::max(std::sqrt(static_cast<double>(squared)), radius) *
                        centered_sums_entry::kBelowOne;
  std::uint64_t kept = 0;
  for (std::size_t a = 0; a < row.size(); ++a) {
    q[a] = static_cast<std::int16_t>(factor * static_cast<double>(std::int64_t{row[a]} - center[a]));
    kept += static_cast<std::uint64_t>(std::int32_t{q[a]} * std::int32_t{q[a]});
  }
  if (kept > kSquaredNorm) std::fill(q.begin(), q.end(), std::int16_t{0});
}

namespace centered_sums_entry {

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.most_labels == 1 && terms.rounds >= 1);
  ReleaseTerms of_means = terms;
  of_means.metric = Metric::kEuclidean;
  ReleaseRequest request = class_means_release(of_means, share);
  request.name = "centred_sums";
  request.rounds = terms.rounds;
  request.blocks.front().name = "centred_sums";
  return request;
}

// Preconditions (asserted): one class a row; K x d centers and K radii.
Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const Lattice lattice{inputs.transform.preprocessing().clip_norm, inputs.transform.output_dim()};
  const std::size_t dim = lattice.dim;
  const auto* const at = std::get_if<ClassBalls>(&inputs.point);
  DPREDUCE_ASSERT(inputs.plan.labels_per_row == 1 && at != nullptr);
  DPREDUCE_ASSERT(at->radii.size() == inputs.plan.classes);
  DPREDUCE_ASSERT(at->centers.size() == inputs.plan.classes * dim);
  const LatticeBalls balls(*at, lattice);
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> sums = statistic.block(statistic.index_of("centred_sums"));
  const std::span<std::int64_t> counts = statistic.block(statistic.index_of("class_counts"));
  const unsigned count_bits = request.blocks.back().fraction_bits;
  std::vector<std::int16_t> q(dim);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const std::span<const std::int32_t> classes = chunk.classes_of(row);
      if (classes.empty()) continue;
      const auto label = static_cast<std::size_t>(classes.front());
      center_row(chunk.row(row), std::span(balls.centers).subspan(label * dim, dim), balls.radii[label], q);
      weigh_row(q, chunk.weight(row), WeightPower::kWhole, q);
      for (std::size_t a = 0; a < dim; ++a) sums[label * dim + a] += q[a];
      counts[label] += count_of_row(chunk, row, count_bits);
    }
  });
  return statistic;
}

// Centers go to each rank.
StatisticCost cost_of(const ReleaseRequest& request) {
  return {.words_down = elements_of(request.blocks.front())};
}

}  // namespace centered_sums_entry

namespace statistics {
extern constinit const StatisticEntry centered_sums{"centred_sums",
                                                    TakenAt::kBalls,
                                                    centered_sums_entry::request_of,
                                                    centered_sums_entry::compute,
                                                    centered_sums_entry::cost_of,
                                                    UnitForm::kWeighed};
}  // namespace statistics

}  // namespace dpreduce
