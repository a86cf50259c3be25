// Release "class_sizes": class_counts = #{i : y_i = c} (K), for rows of at most one class.
//
// Sensitivity, squared: add-remove 1, replace-one 2.
// Persons: weighed, as counts are.
#include <span>

#include "common/base/error.hpp"
#include "common/plan/empty_statistic.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace class_sizes_entry {

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.most_labels == 1 && terms.classes >= 2 && share > 0.0);
  const bool is_add_remove = terms.adjacency == Adjacency::kAddRemove;
  const SensitivityProfile profile =
      is_add_remove ? SensitivityProfile{"one row more or less", {1}} : SensitivityProfile{"another class", {2}};
  return {.name = "class_sizes",
          .share = share,
          .blocks = {{.name = "class_counts",
                      .elements = terms.classes,
                      .loss_weight = 1.0,
                      .fraction_bits = terms.count_bits()}},
          .profiles = {profile}};
}

// A pass over the rows.
Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> counts = statistic.block(statistic.index_of("class_counts"));
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    accumulate_counts(chunk, request.blocks.front().fraction_bits, counts);
  });
  return statistic;
}

}  // namespace class_sizes_entry

namespace statistics {
extern constinit const StatisticEntry class_sizes{
    "class_sizes", TakenAt::kRows,    class_sizes_entry::request_of, class_sizes_entry::compute,
    cost_of_sums,  UnitForm::kWeighed};
}  // namespace statistics

}  // namespace dpreduce
