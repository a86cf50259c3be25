#include "aggregator/solvers/weight_intervals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <lapacke.h>

#include "aggregator/solvers/blas.hpp"
#include "aggregator/solvers/gram_spectrum.hpp"
#include "aggregator/solvers/least_squares.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

double dot(std::span<const double> one, std::span<const double> other) {
  return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
}

// The regressions of all classes by what was released, in units of features.
class NoisedRegression {
 public:
  NoisedRegression(const Release& release, const Lattice& lattice, const IntervalTerms& terms)
      : terms_(terms), dim_(lattice.dim), sums_(in_units(release.block("class_sums"), lattice.scale())) {
    const double scale = lattice.scale();
    const double gram_noise = release.block("gram").sigma() / (scale * scale);
    v_ = gram_noise * gram_noise / 2.0;
    sums_noise_ = release.block("class_sums").sigma() / scale;
    matrix_ = symmetric(gram_in_units(release.block("gram"), lattice), dim_);
    for (std::size_t a = 0; a < dim_; ++a) matrix_[a * dim_ + a] += terms.ridge;
    const double smallest = released_eigenvalues(release.block("gram"), lattice).front() + terms.ridge;
    const double radius = noise_radius_of(release.block("gram"), lattice);
    kappa_ = smallest > 0.0 ? radius / smallest : std::numeric_limits<double>::infinity();
  }

  double kappa() const { return kappa_; }
  std::size_t classes() const { return sums_.size() / dim_; }

  // Precondition: kappa is finite.
  LinearIntervals intervals() {
    invert();
    const std::vector<double> solved = less_bias(rows_times(terms_.rows, inverse_, dim_));  // u
    LinearIntervals result{.kind = IntervalKind::kFormula, .kappa = kappa_, .classes = classes()};
    result.estimates = inner_products(terms_.rows, weights_, dim_);
    const std::vector<double> along = inner_products(solved, weights_, dim_);
    for (std::size_t i = 0; i < solved.size() / dim_; ++i) {
      const std::span<const double> u = std::span(solved).subspan(i * dim_, dim_);
      for (std::size_t c = 0; c < classes(); ++c) {
        const double own = along[i * classes() + c];
        result.deviations.push_back(std::sqrt(spreads_[c] * dot(u, u) + v_ * own * own));
      }
    }
    add_population(result, solved);
    return result;
  }

 private:
  std::span<const double> row_of(std::span<const double> rows, std::size_t c) const {
    return rows.subspan(c * dim_, dim_);
  }

  // H~^-1, theta~ less its bias, and what follows from them.
  void invert() {
    use_one_blas_thread();
    inverse_ = matrix_;
    const auto order = static_cast<lapack_int>(dim_);
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', order, inverse_.data(), order) != 0 ||
        LAPACKE_dpotri(LAPACK_COL_MAJOR, 'L', order, inverse_.data(), order) != 0) {
      throw std::runtime_error("a Gram matrix with its ridge is not positive definite; give a larger --lambda");
    }
    inverse_ = symmetric(std::move(inverse_), dim_);
    for (std::size_t a = 0; a < dim_; ++a) trace_ += inverse_[a * dim_ + a];
    weights_ = less_bias(rows_times(sums_, inverse_, dim_));
    squares_of_inverse_ = dot(inverse_, inverse_);
    solved_weights_ = rows_times(weights_, inverse_, dim_);
    for (std::size_t c = 0; c < classes(); ++c) spreads_.push_back(spread(c));
  }

  // s_b^2 + v |theta|^2; |theta|^2 solves |theta~|^2 = |theta|^2 + tr(Sigma), Sigma as in residual_variance(), its
  // second term by theta~.
  double spread(std::size_t c) const {
    const std::span<const double> theta = row_of(weights_, c);
    const double own = sums_noise_ * sums_noise_;
    const std::span<const double> inverse_theta = row_of(solved_weights_, c);
    const double squared = dot(theta, theta) - own * squares_of_inverse_ - v_ * dot(inverse_theta, inverse_theta);
    return own + v_ * std::max(0.0, squared) / (1.0 + v_ * squares_of_inverse_);
  }

  // Rows H~^-1 y, less their bias v H~^-1 (H~^-1 + tr(H~^-1) I) H~^-1 y.
  std::vector<double> less_bias(std::vector<double> solved) const {
    std::vector<double> moved = rows_times(solved, inverse_, dim_);
    for (std::size_t e = 0; e < moved.size(); ++e) moved[e] += trace_ * solved[e];
    const std::vector<double> bias = rows_times(moved, inverse_, dim_);
    for (std::size_t e = 0; e < bias.size(); ++e) solved[e] -= v_ * bias[e];
    return solved;
  }

  // s^2 of class c; at least 0.
  double residual_variance(std::size_t c) const {
    const std::span<const double> theta = row_of(weights_, c);
    const double ridge = terms_.ridge;
    const std::vector<double> gram_theta = rows_times(theta, matrix_, dim_);  // H theta
    const std::span<const double> inverse_theta = row_of(solved_weights_, c);
    const double squared = dot(theta, theta);
    double residual =
        terms_.squared_targets[c] - 2.0 * dot(theta, row_of(sums_, c)) + dot(theta, gram_theta) - ridge * squared;
    // tr(G Sigma) with G = H - R I, Sigma = H^-1 (spread I + v theta theta^T) H^-1
    residual -= spreads_[c] * (trace_ - ridge * squares_of_inverse_) +
                v_ * (dot(theta, inverse_theta) - ridge * dot(inverse_theta, inverse_theta));
    residual += 2.0 * sums_noise_ * sums_noise_ * trace_ + 2.0 * v_ * (dot(theta, inverse_theta) + trace_ * squared);
    // tr(S) = d - R tr(H^-1), tr(S^2) = d - 2 R tr(H^-1) + R^2 tr(H^-2)
    const double freedom = terms_.count - static_cast<double>(dim_) + ridge * ridge * squares_of_inverse_;
    return std::max(0.0, residual) / std::max(freedom, 1.0);
  }

  void add_population(LinearIntervals& result, std::span<const double> solved) const {
    if (terms_.squared_targets.empty()) return;
    std::vector<double> variances;
    for (std::size_t c = 0; c < classes(); ++c) variances.push_back(residual_variance(c));
    for (std::size_t e = 0; e < result.deviations.size(); ++e) {
      const std::span<const double> u = solved.subspan(e / classes() * dim_, dim_);
      const std::span<const double> z = std::span(terms_.rows).subspan(e / classes() * dim_, dim_);
      const double leverage = std::max(0.0, dot(u, z) - terms_.ridge * dot(u, u));  // u^T G u
      result.population_deviations.push_back(
          std::sqrt(result.deviations[e] * result.deviations[e] + variances[e % classes()] * leverage));
    }
  }

  const IntervalTerms& terms_;
  std::size_t dim_;
  std::vector<double> sums_;    // b~, K x d
  std::vector<double> matrix_;  // H~
  double v_ = 0.0;              // s_G^2 / 2
  double sums_noise_ = 0.0;
  double kappa_ = 0.0;
  std::vector<double> inverse_;
  double trace_ = 0.0;                  // of it
  double squares_of_inverse_ = 0.0;     // tr(H^-2)
  std::vector<double> weights_;         // theta~ less its bias, K x d
  std::vector<double> solved_weights_;  // H^-1 theta of each class, K x d
  std::vector<double> spreads_;         // s_b^2 + v |theta|^2 of each class
};

}  // namespace

LinearIntervals linear_intervals(const Release& release, const Lattice& lattice, const IntervalTerms& terms) {
  NoisedRegression regression(release, lattice, terms);
  DPREDUCE_ASSERT(release.block("gram").sigma() > 0.0 && terms.ridge >= 0.0 && terms.rows.size() % lattice.dim == 0);
  DPREDUCE_ASSERT(terms.squared_targets.empty() || terms.squared_targets.size() == regression.classes());
  if (regression.kappa() > terms.most_kappa.value_or(most_kappa_of(lattice.dim)))
    return {.kind = IntervalKind::kNone, .kappa = regression.kappa()};
  return regression.intervals();
}

}  // namespace dpreduce
