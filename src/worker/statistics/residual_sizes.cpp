// Release "residual_sizes": at a public point, sizes_b = the rows whose residual has a length |r| in bin b
// (common/plan/column_bins.hpp), before it is clipped. So later rounds clip at what residuals have.
//
// Sensitivity, squared: add-remove 1, replace-one 2: a row is in one bin.
// Persons: weighed, as counts are.
#include <span>

#include "common/base/error.hpp"
#include "common/plan/column_bins.hpp"
#include "common/plan/empty_statistic.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {

namespace residual_sizes_entry {

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(share > 0.0);
  const bool is_add_remove = terms.adjacency == Adjacency::kAddRemove;
  const SensitivityProfile profile =
      is_add_remove ? SensitivityProfile{"one row more or less", {1}} : SensitivityProfile{"another bin", {2}};
  return {
      .name = "residual_sizes",
      .share = share,
      .blocks = {{.name = "sizes", .elements = kResidualBins, .loss_weight = 1.0, .fraction_bits = terms.count_bits()}},
      .profiles = {profile}};
}

Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> sizes = statistic.block(statistic.index_of("sizes"));
  const unsigned count_bits = request.blocks.front().fraction_bits;
  ChunkResiduals residuals(gradient_point(inputs), inputs.plan.threads, std::nullopt,
                           &inputs.transform.preprocessing().targets);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    residuals.assign(chunk);
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (chunk.counts(row)) sizes[residual_bin(residuals.residual_norm(row))] += count_of_row(chunk, row, count_bits);
    }
  });
  return statistic;
}

StatisticCost cost_of(const ReleaseRequest& request) {
  return {.words_down = static_cast<double>(request.dim) / kLatticeEntriesOfWord};  // of each of few scores
}

}  // namespace residual_sizes_entry

namespace statistics {
extern constinit const StatisticEntry residual_sizes{"residual_sizes",
                                                     TakenAt::kWeights,
                                                     residual_sizes_entry::request_of,
                                                     residual_sizes_entry::compute,
                                                     residual_sizes_entry::cost_of,
                                                     UnitForm::kWeighed};
}  // namespace statistics

}  // namespace dpreduce
