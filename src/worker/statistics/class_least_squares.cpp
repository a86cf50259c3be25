// Release "class_least_squares", made in parts: class_grams, the upper triangles of A_j = sum_{i : j in Y_i} q_i q_i^T,
// class after class (K triangles, symmetric noise); for alpha > 0 also gram, that of G = sum_i q_i q_i^T; class_sums
// (K x d). Runs make it class by class (class_grams.hpp); `compute` is all blocks at once, for small d and K.
//
// `gram_share` of the release's mu^2 goes to the Gram matrices, split so that A_j + alpha G has the least noise:
// s_G^2 / s_A^2 = 1 / (alpha sqrt(k)), sqrt(k) / (sqrt(k) + alpha) of the share for A and the rest for G. The variance
// of A_j + alpha G is then (sqrt(k) + alpha)^2 times that of a single Gram matrix at the same budget, whatever K. Where
// every row has exactly one class, G = sum_j A_j, and the generalized least-squares step
// (docs/explanation/sensitivities.md, "Gram matrices of the classes") has nothing left to do:
//
//     Cov(A_j + alpha G, G - sum_i A_i) = alpha s_G^2 - s_A^2 = 0
//
// With rows of several classes, or of none, G is no sum of the A_j, and there is no such step.
//
// Sensitivity, squared: K does not appear. Add-remove {k S^4, S^4, k S^2}. Replace-one, t = <q, q'> / S^2: with the
// same k classes {2 k S^4 (1 - t^2), 2 S^4 (1 - t^2), 2 k S^2 (1 - t)}, below the corners {2 k S^4, 2 S^4, 3 k S^2} and
// {0, 0, 4 k S^2} as in least_squares.cpp; with others {2 k S^4, 2 S^4 (1 - t^2), 2 k S^2}, below the first corner.
// Persons: clipped, each block by a factor of its own, one for all class_grams.
// Proof: docs/explanation/sensitivities.md, "Gram matrices of the classes". Preconditions: 0 <= alpha < infinity.
// Throws UsageError where a row may have more than 16 classes, or 8 under replace-one: squares are kept in 64 bits, and
// S^4 < 2^60.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/plan/empty_statistic.hpp"
#include "common/plan/triangle.hpp"
#include "worker/class_grams.hpp"
#include "worker/row_sensitivity.hpp"
#include "worker/statistics/gram.hpp"

namespace dpreduce {
namespace class_least_squares_entry {

void require_most_labels(const ReleaseTerms& terms) {
  const std::size_t most = terms.adjacency == Adjacency::kAddRemove ? 16 : 8;
  if (terms.most_labels <= most) return;
  throw UsageError("--max-labels " + std::to_string(terms.most_labels) +
                   ": Gram matrices of classes take rows of up to " + std::to_string(most) +
                   " labels; use --shared-gram");
}

SensitivityProfile profile_of(const ReleaseTerms& terms, std::string change, std::uint64_t grams, std::uint64_t sums) {
  std::vector<std::uint64_t> squared{terms.most_labels * grams * kFourthNorm};
  if (terms.alpha > 0.0) squared.push_back(grams * kFourthNorm);
  squared.push_back(terms.most_labels * sums * kSquaredNorm);
  return {std::move(change), std::move(squared)};
}

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.classes >= 2 && terms.dim >= 1 && share > 0.0);
  DPREDUCE_ASSERT(terms.gram_share > 0.0 && terms.gram_share < 1.0);
  DPREDUCE_ASSERT(terms.alpha >= 0.0 && std::isfinite(terms.alpha));
  DPREDUCE_ASSERT(terms.most_labels >= 1 && terms.most_labels <= terms.classes);
  require_most_labels(terms);
  const double root = root_of(terms.most_labels);
  const double one_gram = static_cast<double>(kSquaredNorm);
  ReleaseRequest request{.name = "class_least_squares",
                         .share = share,
                         .blocks = {{"class_grams", terms.classes * triangle_elements(terms.dim),
                                     weight_of_share(terms.gram_share * root / (root + terms.alpha), root * one_gram),
                                     BlockNoise::kSymmetric, terms.classes}},
                         .profiles = {},
                         .in_parts = true};
  if (terms.alpha > 0.0) {
    const double share_of_gram = terms.gram_share * terms.alpha / (root + terms.alpha);
    request.blocks.push_back(gram_block(terms.dim, weight_of_share(share_of_gram, one_gram)));
  }
  request.blocks.push_back(
      {"class_sums", terms.classes * terms.dim, weight_of_share(1.0 - terms.gram_share, root * double{kLatticeNorm})});
  if (terms.adjacency == Adjacency::kAddRemove) {
    request.profiles = {profile_of(terms, "one row more or less", 1, 1)};
  } else {
    request.profiles = {profile_of(terms, "another row", 2, 3), profile_of(terms, "the opposite row", 0, 4)};
    if (terms.has_units) request.profiles = {largest_of_each_block(request.profiles)};
  }
  return request;
}

Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  // Nothing is bound to these digests: they only tell passes apart.
  const std::array<std::byte, 32> no_secret{};
  const RowHasher hasher(no_secret, inputs.transform.output_dim());
  std::vector<std::size_t> order(inputs.plan.classes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  ClassGrams grams(request, inputs, hasher, std::move(order));

  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> parts = statistic.block(statistic.index_of("class_grams"));
  const std::size_t elements = triangle_elements(inputs.transform.output_dim());
  for (std::size_t label = 0; label < inputs.plan.classes; ++label) {
    grams.next(parts.subspan(label * elements, elements));
  }
  const Statistic sums = grams.take_sums();
  for (std::size_t block = 0; block < sums.shape().size(); ++block) {
    const std::span<std::int64_t> whole = statistic.block(statistic.index_of(sums.shape()[block].name));
    DPREDUCE_ASSERT(whole.size() == sums.block(block).size());
    std::ranges::copy(sums.block(block), whole.begin());
  }
  return statistic;
}

// G and the sums go to every rank.
StatisticCost cost_of(const ReleaseRequest& request) {
  StatisticCost cost;
  for (std::size_t block = 1; block < request.blocks.size(); ++block) {
    cost.words_down += elements_of(request.blocks[block]);
  }
  return cost;
}

}  // namespace class_least_squares_entry

namespace statistics {
extern constinit const StatisticEntry class_least_squares{"class_least_squares",
                                                          TakenAt::kRows,
                                                          class_least_squares_entry::request_of,
                                                          class_least_squares_entry::compute,
                                                          class_least_squares_entry::cost_of,
                                                          UnitForm::kClipped};
}  // namespace statistics

}  // namespace dpreduce
