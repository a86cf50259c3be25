// Release "center": row_sum = sum_i q_i (d) and row_count = n (1), over rows that count, for the mean of all rows.
//
// Sensitivity, squared: add-remove {S^2, 1}. Replace-one {4 S^2, 0}; so that the released count keeps n a secret there
// too, the change of one row more is protected as well, {S^2, 1}, which costs nothing. Loss weights: an error e of the
// count moves the mean by |mean| e / n, and |mean| <= S.
// Persons: weighed, sum and count alike, so that the mean is one of rows.
#include <span>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/kernels/class_sums.hpp"
#include "common/plan/empty_statistic.hpp"
#include "worker/row_sensitivity.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace center_entry {

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.dim >= 1 && share > 0.0);
  std::vector<SensitivityProfile> profiles{{"one row more or less", {kSquaredNorm, 1}}};
  if (terms.adjacency == Adjacency::kReplaceOne) profiles.push_back({"another row", {4 * kSquaredNorm, 0}});
  return {.name = "center",
          .share = share,
          .blocks = {{"row_sum", terms.dim, static_cast<double>(terms.dim)},
                     {.name = "row_count",
                      .elements = 1,
                      .loss_weight = static_cast<double>(kSquaredNorm),
                      .fraction_bits = terms.count_bits()}},
          .profiles = std::move(profiles)};
}

// n d additions.
Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> sum = statistic.block(statistic.index_of("row_sum"));
  std::int64_t& count = statistic.block(statistic.index_of("row_count")).front();
  const unsigned count_bits = request.blocks.back().fraction_bits;
  std::vector<std::int32_t> one_class;  // class 0 for every row that counts
  WeightedRows weighted(WeightPower::kWhole);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    one_class.resize(chunk.rows());
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      one_class[row] = chunk.counts(row) ? 0 : kNoLabel;
      if (chunk.counts(row)) count += count_of_row(chunk, row, count_bits);
    }
    accumulate_class_sums(weighted.of(chunk, inputs.plan.threads), one_class, {sum.data(), 1, sum.size(), sum.size()},
                          inputs.plan.threads);
  });
  return statistic;
}

StatisticCost cost_of(const ReleaseRequest& request) {
  return {.words_down = elements_of(request.blocks.front()), .row_change = RowChange::kCenter};
}

}  // namespace center_entry

namespace statistics {
extern constinit const StatisticEntry center{
    "center",          TakenAt::kRows, center_entry::request_of, center_entry::compute, center_entry::cost_of,
    UnitForm::kWeighed};
}  // namespace statistics

}  // namespace dpreduce
