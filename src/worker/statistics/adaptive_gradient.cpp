// Release "adaptive_gradient", `rounds` times: the gradient of the release "gradient" (gradient.hpp), of residuals
// clipped to a public bound Z and in units of 1 / Z, and sides = (rows with |r| <= Z, rows with more), of rows that
// have a class. 2 % of the release's mu^2 goes to the counts.
//
// Sensitivity, squared: add-remove {S^4, 1}; replace-one {4 S^4, 2}. Source: [esipova2023], whose batch size is
// public where ours is counted.
// Persons: weighed, sums and counts alike.
#include <span>

#include "common/base/privacy_terms.hpp"
#include "common/plan/empty_statistic.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/row_sensitivity.hpp"
#include "worker/statistics/gradient.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace adaptive_gradient_entry {

constexpr double kSidesShare = 0.02;

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  ReleaseRequest request = gradient_release(terms, share);
  request.name = "adaptive_gradient";
  request.blocks = {
      {"gradient", terms.classes * terms.dim, weight_of_share(1.0 - kSidesShare, static_cast<double>(kSquaredNorm))},
      {.name = "sides",
       .elements = 2,
       .loss_weight = weight_of_share(kSidesShare, 1.0),
       .fraction_bits = terms.count_bits()}};
  request.profiles.front().squared_l2.push_back(terms.adjacency == Adjacency::kAddRemove ? 1 : 2);
  return request;
}

Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const GradientPoint& point = gradient_point(inputs);
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> gradient = statistic.block(statistic.index_of("gradient"));
  const std::span<std::int64_t> sides = statistic.block(statistic.index_of("sides"));
  const unsigned count_bits = request.blocks.back().fraction_bits;
  ChunkResiduals residuals(point, inputs.plan.threads);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    residuals.accumulate(chunk, gradient);
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (chunk.classes_of(row).empty()) continue;
      sides[residuals.residual_norm(row) > point.residual_norm ? 1 : 0] += count_of_row(chunk, row, count_bits);
    }
  });
  return statistic;
}

}  // namespace adaptive_gradient_entry

namespace statistics {
extern constinit const StatisticEntry adaptive_gradient{
    "adaptive_gradient", TakenAt::kWeights, adaptive_gradient_entry::request_of, adaptive_gradient_entry::compute,
    gradient_cost,       UnitForm::kWeighed};
}  // namespace statistics

}  // namespace dpreduce
