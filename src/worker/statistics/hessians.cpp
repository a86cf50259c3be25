// Release "newton", `rounds` times: gradient = sum_i rho_i q_i^T (K x d) at a public point, as the release "gradient"
// has it (gradient.hpp), and hessians: for each class c in turn the upper triangle of H_c = sum_i v_ic v_ic^T
// (hessian_rows.hpp), in units of Lattice{C, d}.scale()^2, with symmetric noise. `hessian_share` of the release's mu^2
// goes to the Hessians.
//
// Sensitivity, squared: the K matrices of one row together sum_c |v_c v_c^T|_F^2 = sum_c |v_c|^4 <= B (hessian_bound).
// Add-remove {S^4, B}. Replace-one {4 S^4, 2 B}, since |v v^T - v' v'^T|_F^2 <= |v|^4 + |v'|^4.
// Source: [mehta2023], Algorithm 1, without its sqrt(K). Proof: docs/explanation/sensitivities.md, "Hessians".
// Persons: weighed, gradient and Hessians alike, so that a step is one of a weighed loss.
// Preconditions: as hessian_bound.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/kernels/kernel_choice.hpp"
#include "common/plan/empty_statistic.hpp"
#include "common/plan/triangle.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/hessian_rows.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/row_sensitivity.hpp"
#include "worker/statistics/gradient.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace hessians_entry {

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.dim >= 1 && terms.rounds >= 1 && share > 0.0);
  DPREDUCE_ASSERT(terms.hessian_share > 0.0 && terms.hessian_share < 1.0);
  const std::uint64_t bound = hessian_bound(terms.loss, terms.classes);
  // With one profile a block gets D_b sqrt(W_b) / sum of mu^2.
  const double hessian_weight = terms.hessian_share / std::sqrt(static_cast<double>(bound));
  const double gradient_weight = (1.0 - terms.hessian_share) / static_cast<double>(kSquaredNorm);
  const bool is_add_remove = terms.adjacency == Adjacency::kAddRemove;
  const SensitivityProfile profile = is_add_remove ? SensitivityProfile{"one row more or less", {kFourthNorm, bound}}
                                                   : SensitivityProfile{"another row", {4 * kFourthNorm, 2 * bound}};
  return {.name = "newton",
          .share = share,
          .rounds = terms.rounds,
          .blocks = {{"gradient", terms.classes * terms.dim, gradient_weight * gradient_weight},
                     {"hessians", terms.classes * triangle_elements(terms.dim), hessian_weight * hessian_weight,
                      BlockNoise::kSymmetric, terms.classes}},
          .profiles = {profile}};
}

// Adds Hessians to triangles, one class after the other, so that only one square is held.
class HessianSums {
 public:
  HessianSums(std::span<std::int64_t> triangles, std::size_t classes, std::size_t dim, unsigned threads)
      : triangles_(triangles), classes_(classes), dim_(dim), threads_(threads), square_(dim * dim) {}

  void add(const LatticeRows& chunk, ChunkResiduals& residuals) {
    const GradientPoint& point = residuals.point();
    factors_.resize(chunk.rows() * classes_);
    scaled_.resize(chunk.rows() * dim_);
    residuals.for_each_row([&](std::size_t row, std::span<double>) {
      hessian_factors(chunk.row(row), residuals.products(row), point.weights.factors(), chunk.classes_of(row),
                      point.loss, {factors_.data() + row * classes_, classes_}, residuals.prior(row));
    });
    for (std::size_t c = 0; c < classes_; ++c) {
      residuals.for_each_row([&](std::size_t row, std::span<double>) {
        const std::span<std::int16_t> v(scaled_.data() + row * dim_, dim_);
        scale_row(chunk.row(row), factors_[row * classes_ + c], v);
        shrink_row(v, chunk.weight(row), v);
      });
      std::fill(square_.begin(), square_.end(), 0);
      select_kernel().accumulate_gram({scaled_.data(), chunk.rows(), dim_, dim_}, {square_.data(), dim_, dim_, dim_},
                                      threads_);
      add_square_to(triangles_.subspan(c * triangle_elements(dim_), triangle_elements(dim_)));
    }
  }

 private:
  void add_square_to(std::span<std::int64_t> triangle) const {
    for (std::size_t a = 0; a < dim_; ++a) {
      for (std::size_t b = a; b < dim_; ++b) {
        std::int64_t& sum = triangle[triangle_row(a, dim_) + b - a];
        sum = ring_sum(sum, square_[a * dim_ + b]);
      }
    }
  }

  std::span<std::int64_t> triangles_;
  std::size_t classes_;
  std::size_t dim_;
  unsigned threads_;
  SecretVector<std::int64_t> square_;
  std::vector<double> factors_;       // n x K
  std::vector<std::int16_t> scaled_;  // n x d, of one class
};

// One pass over the rows. n K d^2 / 2 multiply-adds; memory: 8 d^2 bytes, and 2 d + 18 K bytes a row of a chunk (with a
// prior 16 K more), beside the statistic's 4 K d^2.
Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const GradientPoint& point = gradient_point(inputs);
  Statistic statistic = empty_statistic(request);
  const std::size_t classes = point.weights.classes();
  const std::size_t dim = point.weights.dim();
  const std::span<std::int64_t> gradient = statistic.block(statistic.index_of("gradient"));
  const std::span<std::int64_t> triangles = statistic.block(statistic.index_of("hessians"));
  DPREDUCE_ASSERT(gradient.size() == classes * dim && triangles.size() == classes * triangle_elements(dim));
  ChunkResiduals residuals(point, inputs.plan.threads);
  HessianSums hessians(triangles, classes, dim, inputs.plan.threads);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    residuals.assign(chunk);
    select_kernel().accumulate_product(residuals.residuals(), view_of(chunk), {gradient.data(), classes, dim, dim},
                                       inputs.plan.threads);
    hessians.add(chunk, residuals);
  });
  return statistic;
}

}  // namespace hessians_entry

namespace statistics {
extern constinit const StatisticEntry hessians{
    "newton",      TakenAt::kWeights, hessians_entry::request_of, hessians_entry::compute,
    gradient_cost, UnitForm::kWeighed};
}  // namespace statistics

}  // namespace dpreduce
