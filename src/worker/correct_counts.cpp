#include "dpreduce/worker/correct_counts.hpp"

#include <algorithm>
#include <vector>

#include "dpreduce/config/error.hpp"
#include "dpreduce/kernels/kernel_choice.hpp"
#include "dpreduce/worker/chunk_view.hpp"

namespace dpreduce {
namespace {

std::size_t predicted_class(std::span<const std::int64_t> products, std::span<const double> factors) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < products.size(); ++c) {
    if (factors[c] * static_cast<double>(products[c]) > factors[best] * static_cast<double>(products[best])) best = c;
  }
  return best;
}

std::int64_t correct_rows(const LatticeRows& chunk, const LatticeWeights& candidate, unsigned threads) {
  const std::size_t classes = candidate.classes();
  std::vector<std::int64_t> products(chunk.rows() * classes, 0);
  select_kernel().accumulate_row_products(view_of(chunk),
                                          {candidate.values(), classes, candidate.dim(), candidate.dim()},
                                          {products.data(), chunk.rows(), classes, classes}, threads);
  std::int64_t correct = 0;
  for (std::size_t row = 0; row < chunk.rows(); ++row) {
    const std::span<const std::int32_t> classes_of_row = chunk.classes_of(row);
    const std::span<const std::int64_t> scores(products.data() + row * classes, classes);
    const auto predicted = static_cast<std::int32_t>(predicted_class(scores, candidate.factors()));
    correct += std::find(classes_of_row.begin(), classes_of_row.end(), predicted) == classes_of_row.end() ? 0 : 1;
  }
  return correct;
}

}  // namespace

Statistic correct_counts(std::span<const LatticeWeights> candidates, const StatisticInputs& inputs) {
  for (const LatticeWeights& candidate : candidates) {
    DPREDUCE_ASSERT(candidate.dim() == inputs.transform.output_dim() && candidate.classes() == inputs.plan.classes);
  }
  Statistic counts({{"utilities", candidates.size()}});
  const std::span<std::int64_t> utilities = counts.block(0);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    for (std::size_t m = 0; m < candidates.size(); ++m) {
      utilities[m] += correct_rows(chunk, candidates[m], inputs.plan.threads);
    }
  });
  return counts;
}

}  // namespace dpreduce
