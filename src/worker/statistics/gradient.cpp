#include "worker/statistics/gradient.hpp"

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/plan/empty_statistic.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/row_sensitivity.hpp"

namespace dpreduce {

ReleaseRequest gradient_release(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.classes >= 1 && terms.dim >= 1 && terms.rounds >= 1 && share > 0.0);
  const bool is_add_remove = terms.adjacency == Adjacency::kAddRemove;
  const SensitivityProfile profile = is_add_remove ? SensitivityProfile{"one row more or less", {kFourthNorm}}
                                                   : SensitivityProfile{"another row", {4 * kFourthNorm}};
  return {.name = "gradient",
          .share = share,
          .rounds = terms.rounds,
          .blocks = {{"gradient", terms.classes * terms.dim, 1.0}},
          .profiles = {profile}};
}

StatisticCost gradient_cost(const ReleaseRequest& request) {
  return {.words_down = elements_of(request.blocks.front()) / kLatticeEntriesOfWord};
}

namespace gradient_entry {

// Memory: 10 K bytes a row of a chunk.
Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> gradient = statistic.block(statistic.index_of("gradient"));
  ChunkResiduals residuals(gradient_point(inputs), inputs.plan.threads, clip_of(request),
                           &inputs.transform.preprocessing().targets);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) { residuals.accumulate(chunk, gradient); });
  return statistic;
}

}  // namespace gradient_entry

namespace statistics {
extern constinit const StatisticEntry gradient{
    "gradient", TakenAt::kWeights, gradient_release, gradient_entry::compute, gradient_cost, UnitForm::kClipped};
}  // namespace statistics

}  // namespace dpreduce
