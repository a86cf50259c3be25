#include "worker/gradient_statistic.hpp"

#include "common/base/error.hpp"
#include "common/kernels/kernel_choice.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/chunk_view.hpp"

namespace dpreduce {

void accumulate_gradient(const LatticeRows& chunk, ChunkResiduals& residuals, std::span<std::int64_t> gradient,
                         unsigned threads) {
  const std::size_t classes = residuals.point().weights.classes();
  const std::size_t dim = residuals.point().weights.dim();
  DPREDUCE_ASSERT(chunk.dim() == dim && gradient.size() == classes * dim);
  residuals.assign(chunk);
  select_kernel().accumulate_product(residuals.residuals(), view_of(chunk), {gradient.data(), classes, dim, dim},
                                     threads);
}

Statistic gradient_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  DPREDUCE_ASSERT(inputs.point != nullptr && inputs.point->weights.dim() == inputs.transform.output_dim());
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> gradient = statistic.block(statistic.index_of("gradient"));
  ChunkResiduals residuals(*inputs.point, inputs.plan.threads);
  for_each_chunk(
      inputs, [&](const LatticeRows& chunk) { accumulate_gradient(chunk, residuals, gradient, inputs.plan.threads); });
  return statistic;
}

Statistic adaptive_gradient_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  DPREDUCE_ASSERT(inputs.point != nullptr && inputs.point->weights.dim() == inputs.transform.output_dim());
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> gradient = statistic.block(statistic.index_of("gradient"));
  const std::span<std::int64_t> sides = statistic.block(statistic.index_of("sides"));
  ChunkResiduals residuals(*inputs.point, inputs.plan.threads);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    accumulate_gradient(chunk, residuals, gradient, inputs.plan.threads);
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (!chunk.classes_of(row).empty()) ++sides[residuals.residual_norm(row) > inputs.point->residual_norm ? 1 : 0];
    }
  });
  return statistic;
}

}  // namespace dpreduce
