// Sums of rows by class.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/kernels/class_sums.hpp"
#include "common/ledger/metric.hpp"
#include "common/ledger/statistic.hpp"
#include "worker/statistic_entry.hpp"
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
  const std::uint64_t k = terms.most_labels;
  const std::uint64_t classes = terms.classes;
  DPREDUCE_ASSERT(classes >= 2 && terms.dim >= 1 && share > 0.0 && k >= 1 && k <= classes);
  const double class_count = static_cast<double>(classes);
  const bool has_counts = terms.metric == Metric::kEuclidean;
  const auto squares = [&](std::uint64_t sums, std::uint64_t counts) {
    std::vector<std::uint64_t> squared{sums * kSquaredNorm};
    if (has_counts) squared.push_back(counts);
    return squared;
  };
  const auto exchange = [&](const char* change, std::uint64_t common, std::uint64_t others) {
    return SensitivityProfile{change, squares(4 * common + others, others)};
  };
  std::vector<SensitivityProfile> exchanges{
      exchange(k == 1 ? "another row of the same class" : "another row of the same classes", k, 0),
      exchange(k == 1 ? "another class" : "other classes", 0, std::min(2 * k, classes))};
  if (2 * k > classes && k < classes) {
    exchanges.push_back(exchange("some other classes", 2 * k - classes, 2 * (classes - k)));
  }
  ReleaseRequest request{.share = share,
                         .blocks = {{"class_sums", classes * terms.dim, class_count * static_cast<double>(terms.dim)}},
                         .profiles = profiles_of(terms, squares(k, k), std::move(exchanges))};
  if (has_counts) {
    request.blocks.push_back({.name = "class_counts",
                              .elements = terms.classes,
                              .loss_weight = class_count * static_cast<double>(kSquaredNorm),
                              .fraction_bits = terms.count_bits()});
  }
  return request;
}

// Adds the squares of the entries of rows that have a class.
void add_squares(const LatticeRows& chunk, const Int16View& rows, std::span<std::int64_t> moments) {
  for (std::size_t row = 0; row < chunk.rows(); ++row) {
    if (chunk.classes_of(row).empty()) continue;
    const std::int16_t* const q = rows.row(row);
    for (std::size_t a = 0; a < moments.size(); ++a) moments[a] += std::int32_t{q[a]} * std::int32_t{q[a]};
  }
}

// The class sums of all chunks and, if the release has them, second moments and the number of rows of each class. n d
// additions, and as many for moments. Throws as for_each_lattice_chunk.
Statistic class_sums_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> sums = statistic.block(statistic.index_of("class_sums"));
  std::span<std::int64_t> counts;
  std::span<std::int64_t> moments;
  if (request.blocks.size() > 1) counts = statistic.block(statistic.index_of("class_counts"));
  if (request.blocks.size() > 2) moments = statistic.block(statistic.index_of("second_moments"));
  const std::size_t dim = inputs.transform.output_dim();
  const unsigned threads = inputs.plan.threads;
  WeightedRows weighted(UnitSum::kClassSums, request);
  WeightedRows weighted_squares(WeightPower::kHalf);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    accumulate_class_sums(weighted.of(chunk, threads), chunk.labels(), {sums.data(), sums.size() / dim, dim, dim},
                          threads);
    if (!moments.empty()) add_squares(chunk, weighted_squares.of(chunk, threads), moments);
    if (!counts.empty()) accumulate_counts(chunk, request.blocks.back().fraction_bits, counts);
  });
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
  const double moments = static_cast<double>(terms.classes) * static_cast<double>(kSquaredNorm);
  return {.share = share,
          .blocks = {{"class_sums", terms.classes * terms.dim, weight_of_share(1.0, double{kLatticeNorm})},
                     {"second_moments", terms.dim, weight_of_share(kSeparation, moments)},
                     {.name = "class_counts",
                      .elements = terms.classes,
                      .loss_weight = weight_of_share(kSeparation, std::sqrt(static_cast<double>(terms.dim))),
                      .fraction_bits = terms.count_bits()}},
          .profiles = profiles_of(terms, {kSquaredNorm, kFourthNorm, 1},
                                  {{"another row of the same class", {3 * kSquaredNorm, 2 * kFourthNorm, 0}},
                                   {"the opposite row", {4 * kSquaredNorm, 0, 0}},
                                   {"another class", {2 * kSquaredNorm, 2 * kFourthNorm, 2}}},
                                  true)};
}

constexpr StatisticEntry kClassStatistics[] = {
    {"class_means", TakenAt::kRows, UnitForm::kClipped, class_means_release, class_sums_statistic},
    {"feature_sums", TakenAt::kRows, UnitForm::kClipped, feature_sums_request, class_sums_statistic},
    {"fisher", TakenAt::kRows, UnitForm::kWeighed, class_variances_request, class_sums_statistic}};

}  // namespace

extern constinit const std::span<const StatisticEntry> class_statistics{kClassStatistics};

}  // namespace dpreduce
