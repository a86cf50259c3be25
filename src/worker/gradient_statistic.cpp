#include "dpreduce/worker/gradient_statistic.hpp"

#include "dpreduce/config/error.hpp"
#include "dpreduce/kernels/kernel_choice.hpp"
#include "dpreduce/worker/chunk_residuals.hpp"
#include "dpreduce/worker/chunk_view.hpp"

namespace dpreduce {

Statistic gradient_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  DPREDUCE_ASSERT(inputs.point != nullptr && inputs.point->weights.dim() == inputs.transform.output_dim());
  Statistic statistic = empty_statistic(request);
  const std::size_t classes = inputs.point->weights.classes();
  const std::size_t dim = inputs.point->weights.dim();
  const std::span<std::int64_t> gradient = statistic.block(statistic.index_of("gradient"));
  DPREDUCE_ASSERT(gradient.size() == classes * dim);
  ChunkResiduals residuals(*inputs.point, inputs.plan.threads);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    residuals.assign(chunk);
    select_kernel().accumulate_product(residuals.residuals(), view_of(chunk), {gradient.data(), classes, dim, dim},
                                       inputs.plan.threads);
  });
  return statistic;
}

}  // namespace dpreduce
