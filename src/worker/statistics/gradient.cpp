// Gradients at a public point, alone and beside Hessians or counts of clipped residuals.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/kernels/integer_kernel.hpp"
#include "common/ledger/statistic.hpp"
#include "common/ledger/triangle.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace {

// Release "gradient", `rounds` times: gradient = sum_i rho_i q_i^T (K x d), at a public point, of residuals rho_i on
// the lattice (residuals.hpp), |rho_i| <= S. In units of the loss: gradient / (Lattice{1, K}.scale() * Lattice{C,
// d}.scale()).
//
// Sensitivity, squared: |rho q^T|_F^2 = |rho|^2 |q|^2 <= S^4; replace-one 4 S^4. Whatever the loss, the number of
// classes and the classes of a row: residuals are clipped as vectors.
// Persons: clipped.
ReleaseRequest gradient_release(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.classes >= 1 && terms.dim >= 1 && terms.rounds >= 1 && share > 0.0);
  return {.share = share,
          .rounds = terms.rounds,
          .blocks = {{"gradient", terms.classes * terms.dim, 1.0}},
          .profiles = profiles_of(terms, {kFourthNorm}, {{"another row", {4 * kFourthNorm}}})};
}

// Words of a release whose first block is a gradient: weights go to each rank.
double words_of_weights(const ReleaseRequest& request) {
  return static_cast<double>(request.blocks.front().elements) / kLatticeEntriesOfWord;
}

// Memory: 10 K bytes a row of a chunk.
Statistic gradient_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const GradientPoint& point = gradient_point(inputs);
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> gradient = statistic.block(statistic.index_of("gradient"));
  std::span<std::int64_t> sides;  // of the release "adaptive_gradient"
  if (request.blocks.size() > 1) sides = statistic.block(statistic.index_of("sides"));
  const unsigned count_bits = request.blocks.back().fraction_bits;
  const auto clipped_rows = request.clips_units ? std::optional(request.rows_per_unit) : std::nullopt;
  ChunkResiduals residuals(point, inputs.plan.threads, clipped_rows, &inputs.transform.preprocessing().targets);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    residuals.accumulate(chunk, gradient);
    for (std::size_t row = 0; !sides.empty() && row < chunk.rows(); ++row) {
      if (chunk.classes_of(row).empty()) continue;
      sides[residuals.residual_norm(row) > point.residual_norm ? 1 : 0] += count_of_row(chunk, row, count_bits);
    }
  });
  return statistic;
}

// Release "adaptive_gradient", `rounds` times: the gradient of the release "gradient", of residuals clipped to
// a public bound Z and in units of 1 / Z, and sides = (rows with |r| <= Z, rows with more), of rows that have a class.
// 2 % of the release's mu^2 goes to the counts.
//
// Sensitivity, squared: add-remove {S^4, 1}; replace-one {4 S^4, 2}. Source: [esipova2023], whose batch size is
// public where ours is counted.
// Persons: weighed, sums and counts alike.
constexpr double kSidesShare = 0.02;

ReleaseRequest adaptive_gradient_request(const ReleaseTerms& terms, double share) {
  ReleaseRequest request = gradient_release(terms, share);
  request.blocks = {
      {"gradient", terms.classes * terms.dim, weight_of_share(1.0 - kSidesShare, static_cast<double>(kSquaredNorm))},
      {.name = "sides",
       .elements = 2,
       .loss_weight = weight_of_share(kSidesShare, 1.0),
       .fraction_bits = terms.count_bits()}};
  request.profiles.front().squared_l2.push_back(terms.adjacency == Adjacency::kAddRemove ? 1 : 2);
  return request;
}

// Release "newton", `rounds` times: gradient = sum_i rho_i q_i^T (K x d) at a public point, as the release "gradient"
// has it, and hessians: for each class c in turn the upper triangle of H_c = sum_i v_ic v_ic^T
// (chunk_residuals.hpp), in units of Lattice{C, d}.scale()^2, with symmetric noise. `hessian_share` of the release's
// mu^2 goes to the Hessians.
//
// Sensitivity, squared: the K matrices of one row together sum_c |v_c v_c^T|_F^2 = sum_c |v_c|^4 <= B (hessian_bound).
// Add-remove {S^4, B}. Replace-one {4 S^4, 2 B}, since |v v^T - v' v'^T|_F^2 <= |v|^4 + |v'|^4.
// Source: [mehta2023], Algorithm 1, without its sqrt(K). Proof: docs/explanation/sensitivities.md, "Hessians".
// Persons: weighed, gradient and Hessians alike, so that a step is one of a weighed loss.
// Preconditions: as hessian_bound.
ReleaseRequest hessians_request(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.dim >= 1 && terms.rounds >= 1 && share > 0.0);
  DPREDUCE_ASSERT(terms.hessian_share > 0.0 && terms.hessian_share < 1.0);
  const std::uint64_t bound = hessian_bound(terms.loss, terms.classes);
  const double hessian_weight = weight_of_share(terms.hessian_share, std::sqrt(static_cast<double>(bound)));
  const double gradient_weight = weight_of_share(1.0 - terms.hessian_share, static_cast<double>(kSquaredNorm));
  return {.share = share,
          .rounds = terms.rounds,
          .blocks = {{"gradient", terms.classes * terms.dim, gradient_weight},
                     {"hessians", terms.classes * triangle_elements(terms.dim), hessian_weight, BlockNoise::kSymmetric,
                      terms.classes}},
          .profiles = profiles_of(terms, {kFourthNorm, bound}, {{"another row", {4 * kFourthNorm, 2 * bound}}})};
}

// triangle <- triangle + the upper triangle of the square, d x d.
void add_upper_triangle(std::span<const std::int64_t> square, std::size_t dim, std::span<std::int64_t> triangle) {
  for (std::size_t a = 0; a < dim; ++a) {
    for (std::size_t b = a; b < dim; ++b) {
      std::int64_t& sum = triangle[triangle_row(a, dim) + b - a];
      sum = ring_sum(sum, square[a * dim + b]);
    }
  }
}

// One pass over the rows, one class after the other, so that only one square is held. n K d^2 / 2 multiply-adds;
// memory: 8 d^2 bytes, and 2 d + 18 K bytes a row of a chunk (with a prior 16 K more), beside the statistic's 4 K d^2.
Statistic hessians_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const GradientPoint& point = gradient_point(inputs);
  Statistic statistic = empty_statistic(request);
  const std::size_t classes = point.weights.classes();
  const std::size_t dim = point.weights.dim();
  const std::size_t elements = triangle_elements(dim);
  const unsigned threads = inputs.plan.threads;
  const std::span<std::int64_t> gradient = statistic.block(statistic.index_of("gradient"));
  const std::span<std::int64_t> triangles = statistic.block(statistic.index_of("hessians"));
  DPREDUCE_ASSERT(gradient.size() == classes * dim && triangles.size() == classes * elements);
  ChunkResiduals residuals(point, threads);
  SecretVector<std::int64_t> square(dim * dim);
  std::vector<double> factors;       // n x K
  std::vector<std::int16_t> scaled;  // n x d, of one class
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    residuals.assign(chunk);
    select_kernel().accumulate_product(residuals.residuals(), view_of(chunk), {gradient.data(), classes, dim, dim},
                                       threads);
    factors.resize(chunk.rows() * classes);
    scaled.resize(chunk.rows() * dim);
    residuals.for_each_row([&](std::size_t row) {
      hessian_factors(chunk.row(row), residuals.products(row), point.weights.factors(), chunk.classes_of(row),
                      point.loss, {factors.data() + row * classes, classes}, residuals.prior(row));
    });
    for (std::size_t c = 0; c < classes; ++c) {
      residuals.for_each_row([&](std::size_t row) {
        const std::span<std::int16_t> v(scaled.data() + row * dim, dim);
        scale_row(chunk.row(row), factors[row * classes + c], v);
        shrink_row(v, chunk.weight(row));
      });
      std::fill(square.begin(), square.end(), 0);
      select_kernel().accumulate_gram({scaled.data(), chunk.rows(), dim, dim}, {square.data(), dim, dim, dim}, threads);
      add_upper_triangle(square, dim, triangles.subspan(c * elements, elements));
    }
  });
  return statistic;
}

constexpr StatisticEntry kGradientStatistics[] = {
    {"gradient", TakenAt::kWeights, UnitForm::kClipped, gradient_release, gradient_statistic, words_of_weights},
    {"adaptive_gradient", TakenAt::kWeights, UnitForm::kWeighed, adaptive_gradient_request, gradient_statistic,
     words_of_weights},
    {"newton", TakenAt::kWeights, UnitForm::kWeighed, hessians_request, hessians_statistic, words_of_weights}};

}  // namespace

extern constinit const std::span<const StatisticEntry> gradient_statistics{kGradientStatistics};

}  // namespace dpreduce
