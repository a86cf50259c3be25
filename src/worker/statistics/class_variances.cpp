// Release "fisher": class_sums (K x d), second_moments = (sum_i q_ia^2)_a over the rows of all classes (d),
// class_counts (K), for rows of at most one class: variances within classes come from moments of rows that are counted
// once.
//
// Sensitivity, squared: sum_a q_a^4 <= (sum_a q_a^2)^2 <= S^4, so add-remove {S^2, S^4, 1}. Second moments are the
// diagonal of a Gram matrix and never move further than it does, so that replace-one within a class has the corners of
// the release "least_squares", {3 S^2, 2 S^4, 0} and {4 S^2, 0, 0}. Across two classes sums move by |q|^2 + |q'|^2,
// moments by at most |q|^4 + |q'|^4 (both are vectors without negative entries): {2 S^2, 2 S^4, 2}.
//
// Persons: weighed, sums, moments and counts alike, so that means and variances are of the same rows.
//
// Loss weights: what noise of variance s_b^2 adds to the variance of a row's scores, for rows whose energy is spread
// evenly over features and classes of equal size with Mahalanobis separation D: shares of mu^2 in the ratio
// 1 : D / K : D / sqrt(d), D = 2; more than D / d for counts, so that classes of some tens of rows have one.
#include <cmath>
#include <span>

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/plan/empty_statistic.hpp"
#include "worker/row_sensitivity.hpp"
#include "worker/statistics/class_means.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace class_variances_entry {

constexpr double kSeparation = 2.0;  // of two classes, in standard deviations: hard enough to matter

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.most_labels == 1 && terms.classes >= 2 && terms.dim >= 1 && share > 0.0);
  // With one profile a block gets D_b sqrt(W_b) / sum of mu^2.
  const double sums_weight = 1.0 / static_cast<double>(kLatticeNorm);
  const double moments_weight = kSeparation / (static_cast<double>(terms.classes) * static_cast<double>(kSquaredNorm));
  const double counts_weight = kSeparation / std::sqrt(static_cast<double>(terms.dim));
  ReleaseRequest request{.name = "fisher",
                         .share = share,
                         .blocks = {{"class_sums", terms.classes * terms.dim, sums_weight * sums_weight},
                                    {"second_moments", terms.dim, moments_weight * moments_weight},
                                    {.name = "class_counts",
                                     .elements = terms.classes,
                                     .loss_weight = counts_weight * counts_weight,
                                     .fraction_bits = terms.count_bits()}},
                         .profiles = {}};
  if (terms.adjacency == Adjacency::kAddRemove) {
    request.profiles = {{"one row more or less", {kSquaredNorm, kFourthNorm, 1}}};
  } else {
    request.profiles = {{"another row of the same class", {3 * kSquaredNorm, 2 * kFourthNorm, 0}},
                        {"the opposite row", {4 * kSquaredNorm, 0, 0}},
                        {"another class", {2 * kSquaredNorm, 2 * kFourthNorm, 2}}};
    if (terms.has_units) request.profiles = {largest_of_each_block(request.profiles)};
  }
  return request;
}

// 2 n d additions.
Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> moments = statistic.block(statistic.index_of("second_moments"));
  WeightedRows weighted(WeightPower::kHalf);
  accumulate_classes(statistic, request, inputs, [&](const LatticeRows& chunk) {
    const Int16View rows = weighted.of(chunk, inputs.plan.threads);
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (chunk.classes_of(row).empty()) continue;
      const std::span<const std::int16_t> q(rows.data + row * rows.stride, rows.cols);
      for (std::size_t a = 0; a < q.size(); ++a) moments[a] += std::int32_t{q[a]} * std::int32_t{q[a]};
    }
  });
  return statistic;
}

}  // namespace class_variances_entry

namespace statistics {
extern constinit const StatisticEntry class_variances{
    "fisher",     TakenAt::kRows,    class_variances_entry::request_of, class_variances_entry::compute,
    cost_of_sums, UnitForm::kWeighed};
}  // namespace statistics

}  // namespace dpreduce
