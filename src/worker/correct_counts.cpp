#include "worker/correct_counts.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/error.hpp"
#include "common/kernels/kernel_choice.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/residuals.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace {

// Of the row's scores by one candidate; `scores` is scratch of K entries.
std::int32_t predicted_class(std::span<const std::int64_t> products, std::span<const double> factors,
                             std::span<const double> prior, std::span<double> scores) {
  class_probabilities(products, factors, prior.empty() ? Loss::kSquare : Loss::kSoftmax, scores);
  for (std::size_t c = 0; c < prior.size(); ++c) scores[c] += prior[c];
  return static_cast<std::int32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

std::int64_t correct_rows(const LatticeRows& chunk, const LatticeWeights& candidate, const RowFactors& weights,
                          const ChunkPriors* priors, ThreadTeam& team) {
  const std::size_t classes = candidate.classes();
  const unsigned count_bits = chunk.has_weights() ? kWeightBits : 0;
  std::atomic<std::int64_t> correct{0};
  weights.visit(view_of(chunk), team, [&](std::size_t first, const Int64View& products) {
    std::vector<double> scratch(classes);
    std::int64_t of_block = 0;
    for (std::size_t row = 0; row < products.rows; ++row) {
      const std::span<const std::int32_t> classes_of_row = chunk.classes_of(first + row);
      const std::int32_t predicted =
          predicted_class({products.row(row), classes}, candidate.factors(),
                          priors != nullptr ? priors->of_row(first + row) : std::span<const double>(), scratch);
      const bool is_correct =
          std::find(classes_of_row.begin(), classes_of_row.end(), predicted) != classes_of_row.end();
      if (is_correct) of_block += count_of_row(chunk, first + row, count_bits);
    }
    correct += of_block;
  });
  return correct;
}

}  // namespace

Statistic correct_counts(std::span<const LatticeWeights> candidates, const StatisticInputs& inputs,
                         const Prior* prior) {
  std::vector<std::unique_ptr<const RowFactors>> weights;
  for (const LatticeWeights& candidate : candidates) {
    DPREDUCE_ASSERT(candidate.dim() == inputs.transform.output_dim() && candidate.classes() == inputs.plan.classes);
    weights.push_back(
        select_kernel().row_factors({candidate.values(), candidate.classes(), candidate.dim(), candidate.dim()}));
  }
  Statistic counts({{"utilities", candidates.size(), inputs.rows.has_weights() ? kWeightBits : 0}});
  const std::span<std::int64_t> utilities = counts.block(0);
  ThreadTeam team(inputs.plan.threads);
  std::optional<ChunkPriors> priors;
  if (prior != nullptr) priors.emplace(*prior);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    if (priors) priors->assign(chunk, team);
    for (std::size_t m = 0; m < candidates.size(); ++m) {
      utilities[m] += correct_rows(chunk, candidates[m], *weights[m], priors ? &*priors : nullptr, team);
    }
  });
  return counts;
}

}  // namespace dpreduce
