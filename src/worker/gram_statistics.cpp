#include "worker/gram_statistics.hpp"

#include <algorithm>
#include <functional>

#include "common/kernels/class_sums.hpp"
#include "common/kernels/kernel_choice.hpp"
#include "common/plan/triangle.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/chunk_view.hpp"

namespace dpreduce {
namespace {

// Adds the Gram matrix of all chunks to the block `gram`, and shows each chunk to `also`.
void accumulate_grams(Statistic& statistic, const StatisticInputs& inputs,
                      const std::function<void(const LatticeRows&)>& also) {
  const std::size_t dim = inputs.transform.output_dim();
  const IntegerKernel& kernel = select_kernel();
  SecretVector<std::int64_t> square(dim * dim);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    kernel.accumulate_gram(view_of(chunk), {square.data(), dim, dim, dim}, inputs.plan.threads);
    also(chunk);
  });
  copy_upper_triangle(square, dim, statistic.block(statistic.index_of("gram")));
}

}  // namespace

void copy_upper_triangle(std::span<const std::int64_t> square, std::size_t dim, std::span<std::int64_t> triangle) {
  for (std::size_t i = 0; i < dim; ++i) {
    const auto row = square.subspan(i * dim + i, dim - i);
    std::copy(row.begin(), row.end(), triangle.begin() + static_cast<std::ptrdiff_t>(triangle_row(i, dim)));
  }
}

Statistic gram_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  accumulate_grams(statistic, inputs, [](const LatticeRows&) {});
  return statistic;
}

Statistic least_squares_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> sums = statistic.block(statistic.index_of("class_sums"));
  const std::size_t dim = inputs.transform.output_dim();
  accumulate_grams(statistic, inputs, [&](const LatticeRows& chunk) {
    accumulate_class_sums(view_of(chunk), chunk.labels(), {sums.data(), sums.size() / dim, dim, dim},
                          inputs.plan.threads);
  });
  return statistic;
}

}  // namespace dpreduce
