// Gram matrices of rows, alone and beside sums of classes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/data/counter_random.hpp"
#include "common/kernels/class_sums.hpp"
#include "common/kernels/integer_kernel.hpp"
#include "common/kernels/vector_width.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/statistic.hpp"
#include "common/ledger/triangle.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/class_grams.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace {

// A block "gram" for the triangle of one d x d matrix.
BlockRequest gram_block(std::size_t dim, double loss_weight) {
  return {"gram", triangle_elements(dim), loss_weight, BlockNoise::kSymmetric};
}

// Release "gram": the upper triangle of G = sum_i q_i q_i^T, with symmetric noise.
//
// Sensitivity, squared, in the Frobenius norm: add-remove S^4; replace-one |q q^T - q' q'^T|_F^2 <= 2 S^4.
// Persons: clipped.
// Proof: docs/explanation/sensitivities.md, "Gram matrices".
ReleaseRequest gram_release(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.dim >= 1 && share > 0.0);
  return {.share = share,
          .blocks = {gram_block(terms.dim, 1.0)},
          .profiles = profiles_of(terms, {kFourthNorm}, {{"another row", {2 * kFourthNorm}}})};
}

// The Gram matrix of all chunks and, if the release has them, their class sums. Cost: n d (d + 1) / 2 multiply-adds,
// and n d additions for the sums; memory: 8 d^2 bytes beside the statistic. Throws as for_each_lattice_chunk.
Statistic gram_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::size_t dim = inputs.transform.output_dim();
  const unsigned threads = inputs.plan.threads;
  const bool has_sums = request.blocks.size() > 1;
  std::span<std::int64_t> sums;
  if (has_sums) sums = statistic.block(statistic.index_of("class_sums"));
  SecretVector<std::int64_t> square(dim * dim);
  WeightedRows weighted(UnitSum::kGram, request);
  WeightedRows weighted_sums(UnitSum::kClassSums, request);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    select_kernel().accumulate_gram(weighted.of(chunk, threads), {square.data(), dim, dim, dim}, threads);
    if (!has_sums) return;
    accumulate_class_sums(weighted_sums.of(chunk, threads), chunk.labels(), {sums.data(), sums.size() / dim, dim, dim},
                          threads);
  });
  copy_upper_triangle(square, dim, statistic.block(statistic.index_of("gram")));
  return statistic;
}

// Release "isotropy": the Gram matrix of rows along k = 8 fixed directions of random signs, for how evenly rows spread.
//
//     gram = sum_i z_i z_i^T   (k x k, upper triangle),   z = S R q / |R q|,  rounded toward zero
//
// Legend: q a lattice row, S = 32767, R k x d of signs that are a public constant. A row along which R q is 0 counts as
// zero. Projected rows are all of one length, so that the trace is S^2 times their number, less what rounding takes.
//
// Sensitivity, squared: |z| <= S is checked in integers, so that it is that of the release "gram".
// Persons: weighed, row by row; rows are all of one length.
// Source: [johnson1984], random projections; signs: [achlioptas2003].
constexpr std::size_t kDirections = 8;

ReleaseRequest isotropy_request(const ReleaseTerms& terms, double share) {
  ReleaseTerms of_projected = terms;
  of_projected.dim = kDirections;
  return gram_release(of_projected, share);
}

// R^T, d x k.
std::vector<std::int32_t> random_signs(std::size_t dim) {
  std::vector<std::int32_t> signs;
  for (std::size_t a = 0; a < dim; ++a) {
    const std::uint64_t bits = mix_bits(a + 1);
    for (std::size_t b = 0; b < kDirections; ++b) signs.push_back((bits >> b & 1) != 0 ? 1 : -1);
  }
  return signs;
}

void project_row(std::span<const std::int16_t> row, std::span<const std::int32_t> signs, std::span<std::int16_t> z) {
  std::array<std::int32_t, kDirections> products{};  // below sqrt(d) S
  run_at_full_width([&](auto) {
    std::array<std::int32_t, kDirections> sums{};
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = 0; b < kDirections; ++b) sums[b] += signs[a * kDirections + b] * std::int32_t{row[a]};
    }
    products = sums;
  });
  constexpr double kBelow = 1.0 - 0x1p-50;  // for the roundings of a length and of a product
  double squared = 0.0;
  for (const std::int32_t product : products) squared += static_cast<double>(product) * static_cast<double>(product);
  const double factor = squared > 0.0 ? static_cast<double>(kLatticeNorm) / std::sqrt(squared) * kBelow : 0.0;
  std::uint64_t kept = 0;
  for (std::size_t b = 0; b < kDirections; ++b) {
    z[b] = static_cast<std::int16_t>(factor * static_cast<double>(products[b]));
    kept += static_cast<std::uint64_t>(std::int32_t{z[b]} * std::int32_t{z[b]});
  }
  if (kept > kSquaredNorm) std::fill(z.begin(), z.end(), std::int16_t{0});
}

Statistic isotropy_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> gram = statistic.block(statistic.index_of("gram"));
  const std::vector<std::int32_t> signs = random_signs(inputs.transform.output_dim());
  std::vector<std::int16_t> z(kDirections);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (!chunk.counts(row)) continue;
      project_row(chunk.row(row), signs, z);
      weigh_row(z, chunk.weight(row), WeightPower::kHalf, z);
      auto entry = gram.begin();
      for (std::size_t a = 0; a < kDirections; ++a) {
        for (std::size_t b = a; b < kDirections; ++b) *entry++ += std::int32_t{z[a]} * std::int32_t{z[b]};
      }
    }
  });
  return statistic;
}

// Release "least_squares": the Gram matrix of the release "gram" and class_sums = sum_{i : c in Y_i} q_i (K x d), in
// one pass over the rows. `gram_share` of the release's mu^2 goes to the Gram matrix.
//
// Sensitivity, squared: add-remove {S^4, S^2}. Replace-one, t = <q, q'> / S^2: within a class {2 S^4 (1 - t^2),
// 2 S^2 (1 - t)}, a curve below the tangents at t = 0 and t = -1, whose corners are {2 S^4, 3 S^2} and {0, 4 S^2}; no
// noise costs more on the curve than at the worse of the corners. Across two classes {2 S^4, 2 S^2}, below the first.
// With k classes a row the squares of the sums are k times these, the Gram matrix moves as before.
// Persons: clipped, each block by a factor of its own.
ReleaseRequest least_squares_request(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.classes >= 2 && terms.dim >= 1 && share > 0.0);
  DPREDUCE_ASSERT(terms.gram_share > 0.0 && terms.gram_share < 1.0);
  DPREDUCE_ASSERT(terms.most_labels >= 1 && terms.most_labels <= terms.classes);
  const double sums_sensitivity = root_of(terms.most_labels) * double{kLatticeNorm};
  const std::uint64_t sums = terms.most_labels * kSquaredNorm;
  return {
      .share = share,
      .blocks = {gram_block(terms.dim, weight_of_share(terms.gram_share, static_cast<double>(kSquaredNorm))),
                 {"class_sums", terms.classes * terms.dim, weight_of_share(1.0 - terms.gram_share, sums_sensitivity)}},
      .profiles =
          profiles_of(terms, {kFourthNorm, sums},
                      {{"another row", {2 * kFourthNorm, 3 * sums}}, {"the opposite row", {0, 4 * sums}}}, true)};
}

std::vector<std::uint64_t> squares_of(const ReleaseTerms& terms, std::uint64_t grams, std::uint64_t sums) {
  std::vector<std::uint64_t> squared{terms.most_labels * grams * kFourthNorm};
  if (terms.alpha > 0.0) squared.push_back(grams * kFourthNorm);
  squared.push_back(terms.most_labels * sums * kSquaredNorm);
  return squared;
}

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
// {0, 0, 4 k S^2} as in "least_squares"; with others {2 k S^4, 2 S^4 (1 - t^2), 2 k S^2}, below the first corner.
// Persons: clipped, each block by a factor of its own, one for all class_grams.
// Proof: docs/explanation/sensitivities.md, "Gram matrices of the classes". Preconditions: 0 <= alpha < infinity.
// Throws UsageError where a row may have more than 16 classes, or 8 under replace-one: squares are kept in 64 bits, and
// S^4 < 2^60.
ReleaseRequest class_least_squares_request(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.classes >= 2 && terms.dim >= 1 && share > 0.0);
  DPREDUCE_ASSERT(terms.gram_share > 0.0 && terms.gram_share < 1.0);
  DPREDUCE_ASSERT(terms.alpha >= 0.0 && std::isfinite(terms.alpha));
  DPREDUCE_ASSERT(terms.most_labels >= 1 && terms.most_labels <= terms.classes);
  const std::size_t most = terms.adjacency == Adjacency::kAddRemove ? 16 : 8;
  if (terms.most_labels > most) {
    throw UsageError("--max-labels {}: Gram matrices of classes take rows of up to {} labels; use --shared-gram",
                     terms.most_labels, most);
  }
  const double root = root_of(terms.most_labels);
  const double one_gram = static_cast<double>(kSquaredNorm);
  ReleaseRequest request{
      .share = share,
      .blocks = {{"class_grams", terms.classes * triangle_elements(terms.dim),
                  weight_of_share(terms.gram_share * root / (root + terms.alpha), root * one_gram),
                  BlockNoise::kSymmetric, terms.classes}},
      .profiles =
          profiles_of(terms, squares_of(terms, 1, 1),
                      {{"another row", squares_of(terms, 2, 3)}, {"the opposite row", squares_of(terms, 0, 4)}}, true),
      .in_parts = true};
  if (terms.alpha > 0.0) {
    const double share_of_gram = terms.gram_share * terms.alpha / (root + terms.alpha);
    request.blocks.push_back(gram_block(terms.dim, weight_of_share(share_of_gram, one_gram)));
  }
  request.blocks.push_back(
      {"class_sums", terms.classes * terms.dim, weight_of_share(1.0 - terms.gram_share, root * double{kLatticeNorm})});
  return request;
}

Statistic class_least_squares_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  // Nothing is bound to these digests: they only distinguish passes.
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
  std::ranges::copy(sums.words(), statistic.words().last(sums.words().size()).begin());  // blocks behind class_grams
  return statistic;
}

// G and the sums go to every rank.
double words_of_shared_sums(const ReleaseRequest& request) {
  double words = 0.0;
  for (std::size_t block = 1; block < request.blocks.size(); ++block) {
    words += static_cast<double>(request.blocks[block].elements);
  }
  return words;
}

// Release "pca": the release "gram", with its sensitivity, under a name of its own, for the principal components of
// rows whose method releases a Gram matrix too.
// Persons: clipped.
constexpr StatisticEntry kGramStatistics[] = {
    {"gram", TakenAt::kRows, UnitForm::kClipped, gram_release, gram_statistic, no_words, RowChange::kWhitening},
    {"pca", TakenAt::kRows, UnitForm::kClipped, gram_release, gram_statistic, no_words, RowChange::kComponents},
    {"isotropy", TakenAt::kRows, UnitForm::kWeighed, isotropy_request, isotropy_statistic},
    {"least_squares", TakenAt::kRows, UnitForm::kClipped, least_squares_request, gram_statistic},
    {"class_least_squares", TakenAt::kRows, UnitForm::kClipped, class_least_squares_request,
     class_least_squares_statistic, words_of_shared_sums}};

}  // namespace

extern constinit const std::span<const StatisticEntry> gram_statistics{kGramStatistics};

}  // namespace dpreduce
