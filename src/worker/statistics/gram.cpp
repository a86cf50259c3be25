#include "worker/statistics/gram.hpp"

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/kernels/kernel_choice.hpp"
#include "common/plan/empty_statistic.hpp"
#include "common/plan/triangle.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/row_sensitivity.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {

BlockRequest gram_block(std::size_t dim, double loss_weight) {
  return {"gram", triangle_elements(dim), loss_weight, BlockNoise::kSymmetric};
}

ReleaseRequest gram_release(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.dim >= 1 && share > 0.0);
  const bool is_add_remove = terms.adjacency == Adjacency::kAddRemove;
  const SensitivityProfile profile = is_add_remove ? SensitivityProfile{"one row more or less", {kFourthNorm}}
                                                   : SensitivityProfile{"another row", {2 * kFourthNorm}};
  return {.name = "gram", .share = share, .blocks = {gram_block(terms.dim, 1.0)}, .profiles = {profile}};
}

void accumulate_gram(Statistic& statistic, const ReleaseRequest& request, const StatisticInputs& inputs,
                     const std::function<void(const LatticeRows&)>& also) {
  const std::size_t dim = inputs.transform.output_dim();
  const IntegerKernel& kernel = select_kernel();
  SecretVector<std::int64_t> square(dim * dim);
  WeightedRows weighted(UnitSum::kGram, request);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    kernel.accumulate_gram(weighted.of(chunk, inputs.plan.threads), {square.data(), dim, dim, dim},
                           inputs.plan.threads);
    also(chunk);
  });
  copy_upper_triangle(square, dim, statistic.block(statistic.index_of("gram")));
}

Statistic gram_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  accumulate_gram(statistic, request, inputs, [](const LatticeRows&) {});
  return statistic;
}

namespace gram_entry {

StatisticCost cost_of(const ReleaseRequest&) {
  return {.row_change = RowChange::kWhitening};
}

}  // namespace gram_entry

namespace statistics {
extern constinit const StatisticEntry gram{"gram",         TakenAt::kRows,      gram_release,
                                           gram_statistic, gram_entry::cost_of, UnitForm::kClipped};
}  // namespace statistics

}  // namespace dpreduce
