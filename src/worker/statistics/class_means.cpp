// Sums of rows by class.
#include <cmath>
#include <functional>
#include <span>

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/kernels/class_sums.hpp"
#include "common/ledger/metric.hpp"
#include "common/ledger/statistic.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/statistics/row_changes.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace {

// Release "class_means": class_sums = sum_{i : c in Y_i} q_i (K x d, row-major) and, for Metric::kEuclidean only,
// class_counts = #{i : c in Y_i} (K).
//
// Sensitivity, squared, m and t as in statistic_entry.hpp: add-remove {k S^2, k}. Replace-one {(4 m + t) S^2, t}, at
// the corners of the polygon of (m, t): {4 k S^2, 0}; {t S^2, t} with t = min(2 k, K); and, where k < K < 2 k, the
// corner between these. With one class a row: {4 S^2, 0} within a class and {2 S^2, 2} across two. A direction needs no
// count, so that the cosine rule spends nothing on one.
// Persons: clipped; with counts weighed, sums and counts alike, so that means are of both.
// Proof: docs/explanation/sensitivities.md, "Class sums and counts".
// Departs from [zhu2024], Theorem 2.1, which is false as printed.
ReleaseRequest class_means_release(const ReleaseTerms& terms, double share) {
  const std::size_t most_labels = terms.most_labels;
  DPREDUCE_ASSERT(terms.classes >= 2 && terms.dim >= 1 && share > 0.0);
  DPREDUCE_ASSERT(most_labels >= 1 && most_labels <= terms.classes);
  const double class_count = static_cast<double>(terms.classes);
  ReleaseRequest request{
      .share = share,
      .blocks = {{"class_sums", terms.classes * terms.dim, class_count * static_cast<double>(terms.dim)}},
      .profiles = {}};
  const bool has_counts = terms.metric == Metric::kEuclidean;
  if (has_counts) {
    request.blocks.push_back({.name = "class_counts",
                              .elements = terms.classes,
                              .loss_weight = class_count * static_cast<double>(kSquaredNorm),
                              .fraction_bits = terms.count_bits()});
  }
  if (terms.adjacency == Adjacency::kAddRemove) {
    request.profiles = {{"one row more or less", {most_labels * kSquaredNorm}}};
    if (has_counts) request.profiles[0].squared_l2.push_back(most_labels);
    return request;
  }
  for (const LabelExchange& exchange : label_exchanges(terms.classes, most_labels)) {
    request.profiles.push_back({exchange.change, {(4 * exchange.common + exchange.others) * kSquaredNorm}});
    if (has_counts) request.profiles.back().squared_l2.push_back(exchange.others);
  }
  return request;
}

// Adds the class sums of all chunks to the block class_sums and, where the statistic has it, the number of rows of each
// class to class_counts; shows each chunk to `also`. n d additions. Throws as for_each_lattice_chunk.
void accumulate_classes(Statistic& statistic, const ReleaseRequest& request, const StatisticInputs& inputs,
                        const std::function<void(const LatticeRows&)>& also) {
  const std::span<std::int64_t> sums = statistic.block(statistic.index_of("class_sums"));
  const std::size_t dim = inputs.transform.output_dim();
  const bool has_counts = statistic.shape().size() > 1;
  const std::span<std::int64_t> counts =
      has_counts ? statistic.block(statistic.index_of("class_counts")) : std::span<std::int64_t>{};
  const unsigned count_bits = has_counts ? statistic.shape()[statistic.index_of("class_counts")].fraction_bits : 0;
  WeightedRows weighted(UnitSum::kClassSums, request);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    accumulate_class_sums(weighted.of(chunk, inputs.plan.threads), chunk.labels(),
                          {sums.data(), sums.size() / dim, dim, dim}, inputs.plan.threads);
    also(chunk);
    if (has_counts) accumulate_counts(chunk, count_bits, counts);
  });
}

Statistic class_means_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  accumulate_classes(statistic, request, inputs, [](const LatticeRows&) {});
  return statistic;
}

// Release "feature_sums": the class sums of the release "class_means" for Metric::kCosine, with its sensitivity,
// under a name of its own, to select features by before the method's own releases.
// Persons: clipped.
ReleaseRequest feature_sums_request(const ReleaseTerms& terms, double share) {
  ReleaseTerms of_sums = terms;
  of_sums.metric = Metric::kCosine;
  return class_means_release(of_sums, share);
}

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
constexpr double kSeparation = 2.0;  // of two classes, in standard deviations: hard enough to matter

ReleaseRequest class_variances_request(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.most_labels == 1 && terms.classes >= 2 && terms.dim >= 1 && share > 0.0);
  // With one profile a block gets D_b sqrt(W_b) / sum of mu^2.
  const double sums_weight = 1.0 / static_cast<double>(kLatticeNorm);
  const double moments_weight = kSeparation / (static_cast<double>(terms.classes) * static_cast<double>(kSquaredNorm));
  const double counts_weight = kSeparation / std::sqrt(static_cast<double>(terms.dim));
  return {.share = share,
          .blocks = {{"class_sums", terms.classes * terms.dim, sums_weight * sums_weight},
                     {"second_moments", terms.dim, moments_weight * moments_weight},
                     {.name = "class_counts",
                      .elements = terms.classes,
                      .loss_weight = counts_weight * counts_weight,
                      .fraction_bits = terms.count_bits()}},
          .profiles = profiles_of_powers(terms, {kSquaredNorm, kFourthNorm, 1},
                                         {{"another row of the same class", {3 * kSquaredNorm, 2 * kFourthNorm, 0}},
                                          {"the opposite row", {4 * kSquaredNorm, 0, 0}},
                                          {"another class", {2 * kSquaredNorm, 2 * kFourthNorm, 2}}})};
}

// 2 n d additions.
Statistic class_variances_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
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

}  // namespace

extern constinit const StatisticEntry class_means_entry{"class_means", TakenAt::kRows, UnitForm::kClipped,
                                                        class_means_release, class_means_statistic};
extern constinit const StatisticEntry feature_sums_entry{"feature_sums", TakenAt::kRows, UnitForm::kClipped,
                                                         feature_sums_request, class_means_statistic};
extern constinit const StatisticEntry class_variances_entry{"fisher", TakenAt::kRows, UnitForm::kWeighed,
                                                            class_variances_request, class_variances_statistic};

}  // namespace dpreduce
