#include "dpreduce/worker/gradient_statistic.hpp"

#include <algorithm>
#include <vector>

#include "dpreduce/config/error.hpp"
#include "dpreduce/kernels/kernel_choice.hpp"
#include "dpreduce/kernels/thread_team.hpp"
#include "dpreduce/worker/chunk_view.hpp"
#include "dpreduce/worker/residuals.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kRowsPerStep = 64;

// Residuals of a chunk's rows, n x K.
class ChunkResiduals {
 public:
  ChunkResiduals(const GradientPoint& point, unsigned threads) : point_(point), team_(threads) {}

  Int16View of(const LatticeRows& chunk, unsigned threads) {
    const std::size_t classes = point_.weights.classes();
    products_.assign(chunk.rows() * classes, 0);
    residuals_.resize(chunk.rows() * classes);
    select_kernel().accumulate_row_products(
        view_of(chunk), {point_.weights.values(), classes, point_.weights.dim(), point_.weights.dim()},
        {products_.data(), chunk.rows(), classes, classes}, threads);
    team_.for_each((chunk.rows() + kRowsPerStep - 1) / kRowsPerStep, [&](std::size_t step) {
      std::vector<double> scratch(classes);
      const std::size_t last = std::min(chunk.rows(), (step + 1) * kRowsPerStep);
      for (std::size_t row = step * kRowsPerStep; row < last; ++row) {
        lattice_residual({products_.data() + row * classes, classes}, point_.weights.factors(), chunk.labels()[row],
                         point_.loss, scratch, {residuals_.data() + row * classes, classes});
      }
    });
    return {residuals_.data(), chunk.rows(), classes, classes};
  }

 private:
  const GradientPoint& point_;
  ThreadTeam team_;
  std::vector<std::int64_t> products_;
  std::vector<std::int16_t> residuals_;
};

}  // namespace

Statistic gradient_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  DPREDUCE_ASSERT(inputs.point != nullptr && inputs.point->weights.dim() == inputs.transform.output_dim());
  Statistic statistic = empty_statistic(request);
  const std::size_t classes = inputs.point->weights.classes();
  const std::size_t dim = inputs.point->weights.dim();
  const std::span<std::int64_t> gradient = statistic.block(statistic.index_of("gradient"));
  DPREDUCE_ASSERT(gradient.size() == classes * dim);
  ChunkResiduals residuals(*inputs.point, inputs.plan.threads);
  for_each_lattice_chunk(
      inputs.rows, inputs.transform, inputs.plan,
      [&](const LatticeRows& chunk) {
        select_kernel().accumulate_product(residuals.of(chunk, inputs.plan.threads), view_of(chunk),
                                           {gradient.data(), classes, dim, dim}, inputs.plan.threads);
      },
      inputs.on_chunk);
  return statistic;
}

}  // namespace dpreduce
