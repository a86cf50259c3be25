#include "aggregator/solvers/weight_intervals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <cblas.h>
#include <lapacke.h>

#include "aggregator/solvers/blas.hpp"
#include "aggregator/solvers/gram_spectrum.hpp"
#include "aggregator/solvers/least_squares.hpp"
#include "aggregator/solvers/released_noise.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kDraws = 400;
constexpr std::size_t kMostKeptDraws = std::size_t{1} << 24;  // numbers

std::vector<double> product(std::span<const double> rows, std::span<const double> matrix, std::size_t dim) {
  std::vector<double> products(rows.size());
  const auto order = static_cast<int>(dim);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(rows.size() / dim), order, order, 1.0,
              rows.data(), order, matrix.data(), order, 0.0, products.data(), order);
  return products;
}

// one other^T, of rows of d entries.
std::vector<double> inner_products(std::span<const double> one, std::span<const double> other, std::size_t dim) {
  const auto rows = static_cast<int>(one.size() / dim);
  const auto columns = static_cast<int>(other.size() / dim);
  std::vector<double> products(one.size() / dim * (other.size() / dim));
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, columns, static_cast<int>(dim), 1.0, one.data(),
              static_cast<int>(dim), other.data(), static_cast<int>(dim), 0.0, products.data(), columns);
  return products;
}

double dot(std::span<const double> one, std::span<const double> other) {
  return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
}

// The regressions of all classes by what was released, in units of features.
class NoisedRegression {
 public:
  NoisedRegression(const Release& release, const Lattice& lattice, const IntervalTerms& terms)
      : terms_(terms), dim_(lattice.dim), sums_(in_units(release.block("class_sums"), lattice.scale())) {
    const double scale = lattice.scale();
    gram_noise_ = release.block("gram").sigma() / (scale * scale);
    sums_noise_ = release.block("class_sums").sigma() / scale;
    matrix_ = gram_in_units(release.block("gram"), lattice);
    for (std::size_t a = 0; a < dim_; ++a) {
      matrix_[a * dim_ + a] += terms.ridge;
      for (std::size_t b = 0; b < a; ++b) matrix_[a * dim_ + b] = matrix_[b * dim_ + a];
    }
    const double smallest = released_eigenvalues(release.block("gram"), lattice).front() + terms.ridge;
    const double radius = noise_radius_of(release.block("gram"), lattice);
    kappa_ = smallest > 0.0 ? radius / smallest : std::numeric_limits<double>::infinity();
  }

  double kappa() const { return kappa_; }
  std::size_t classes() const { return sums_.size() / dim_; }

  // Precondition: kappa is finite.
  LinearIntervals by_formula() {
    invert();
    const std::vector<double> solved = product(terms_.rows, inverse_, dim_);  // u
    LinearIntervals result{.kind = IntervalKind::kFormula, .kappa = kappa_};
    result.estimates = inner_products(terms_.rows, weights_, dim_);
    const std::vector<double> along = inner_products(solved, weights_, dim_);
    const double v = gram_noise_ * gram_noise_ / 2.0;
    for (std::size_t i = 0; i < solved.size() / dim_; ++i) {
      const std::span<const double> u = std::span(solved).subspan(i * dim_, dim_);
      for (std::size_t c = 0; c < classes(); ++c) {
        const double own = along[i * classes() + c];
        result.deviations.push_back(std::sqrt(spread(c) * dot(u, u) + v * own * own));
      }
    }
    add_population(result, solved);
    return result;
  }

  // by_formula() with centers and deviations of simulated noise in their place.
  LinearIntervals by_simulation() {
    LinearIntervals result = by_formula();
    result.kind = IntervalKind::kBootstrap;
    const std::vector<double> solved = product(terms_.rows, inverse_, dim_);
    const std::vector<double> released = inner_products(terms_.rows, released_weights_, dim_);
    const std::vector<double> formula = result.deviations;
    // theta_0 is moved by the formula's bias, and once more by what the first draws say.
    std::vector<double> start = weights_;
    {
      std::vector<double> unit(dim_ * dim_, 0.0);
      for (std::size_t a = 0; a < dim_; ++a) unit[a * dim_ + a] = 1.0;
      const std::vector<Simulated> drawn = simulated(start, unit);
      for (std::size_t a = 0; a < dim_; ++a) {
        for (std::size_t c = 0; c < classes(); ++c) {
          const std::size_t at = c * dim_ + a;
          start[at] += released_weights_[at] - start[at] - drawn[a * classes() + c].median;
        }
      }
    }
    const std::vector<Simulated> drawn = simulated(start, terms_.rows);
    for (std::size_t e = 0; e < drawn.size(); ++e) {
      result.estimates[e] = released[e] - drawn[e].median;
      result.deviations[e] = drawn[e].deviation;
      if (result.population_deviations.empty()) continue;
      const double of_population = std::pow(result.population_deviations[e], 2) - formula[e] * formula[e];
      result.population_deviations[e] = std::sqrt(std::max(0.0, of_population) + std::pow(drawn[e].deviation, 2));
    }
    return result;
  }

 private:
  struct Simulated {
    double median;  // of z^T (theta* - theta_0)
    double deviation;
  };

  // s_b^2 + v |theta|^2
  double spread(std::size_t c) const {
    const std::span<const double> theta = weights_of(c);
    return sums_noise_ * sums_noise_ + gram_noise_ * gram_noise_ / 2.0 * dot(theta, theta);
  }
  std::span<const double> weights_of(std::size_t c) const { return std::span(weights_).subspan(c * dim_, dim_); }

  // H~^-1, theta~, and theta~ less its bias.
  void invert() {
    use_one_blas_thread();
    inverse_ = matrix_;
    const auto order = static_cast<lapack_int>(dim_);
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', order, inverse_.data(), order) != 0 ||
        LAPACKE_dpotri(LAPACK_COL_MAJOR, 'L', order, inverse_.data(), order) != 0) {
      throw std::runtime_error("a Gram matrix with its ridge is not positive definite; give a larger --lambda");
    }
    for (std::size_t a = 0; a < dim_; ++a) {
      trace_ += inverse_[a * dim_ + a];
      for (std::size_t b = 0; b < a; ++b) inverse_[a * dim_ + b] = inverse_[b * dim_ + a];
    }
    released_weights_ = product(sums_, inverse_, dim_);
    const double v = gram_noise_ * gram_noise_ / 2.0;
    std::vector<double> moved = product(released_weights_, inverse_, dim_);
    for (std::size_t e = 0; e < moved.size(); ++e) moved[e] += trace_ * released_weights_[e];
    const std::vector<double> bias = product(moved, inverse_, dim_);
    weights_ = released_weights_;
    for (std::size_t e = 0; e < bias.size(); ++e) weights_[e] -= v * bias[e];
  }

  // s^2 of class c; at least 0.
  double residual_variance(std::size_t c) const {
    const std::span<const double> theta = weights_of(c);
    const double ridge = terms_.ridge;
    const double v = gram_noise_ * gram_noise_ / 2.0;
    const std::vector<double> gram_theta = product(theta, matrix_, dim_);      // H theta
    const std::vector<double> inverse_theta = product(theta, inverse_, dim_);  // H^-1 theta
    const double squares_of_inverse = dot(inverse_, inverse_);                 // tr(H^-2)
    const double squared = dot(theta, theta);
    double residual = terms_.squared_targets[c] - 2.0 * dot(theta, std::span(sums_).subspan(c * dim_, dim_)) +
                      dot(theta, gram_theta) - ridge * squared;
    // tr(G Sigma) with G = H - R I, Sigma = H^-1 (spread I + v theta theta^T) H^-1
    residual -= spread(c) * (trace_ - ridge * squares_of_inverse) +
                v * (dot(theta, inverse_theta) - ridge * dot(inverse_theta, inverse_theta));
    residual += 2.0 * sums_noise_ * sums_noise_ * trace_ + 2.0 * v * (dot(theta, inverse_theta) + trace_ * squared);
    // tr(S) = d - R tr(H^-1), tr(S^2) = d - 2 R tr(H^-1) + R^2 tr(H^-2)
    const double freedom = terms_.count - static_cast<double>(dim_) + ridge * ridge * squares_of_inverse;
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

  // theta* - theta_0 of one draw, K x d.
  std::vector<double> drawn(const std::vector<double>& start, const std::vector<double>& sums, std::size_t draw) const {
    NormalStream normals(terms_.seed, draw);
    std::vector<double> matrix = matrix_;
    for (std::size_t a = 0; a < dim_; ++a) {
      matrix[a * dim_ + a] += gram_noise_ * normals.next();
      for (std::size_t b = a + 1; b < dim_; ++b) {
        matrix[a * dim_ + b] += gram_noise_ * std::sqrt(0.5) * normals.next();
        matrix[b * dim_ + a] = matrix[a * dim_ + b];
      }
    }
    std::vector<double> theta = sums;
    for (double& entry : theta) entry += sums_noise_ * normals.next();
    std::vector<lapack_int> pivots(dim_);
    const auto order = static_cast<lapack_int>(dim_);
    LAPACKE_dgesv(LAPACK_COL_MAJOR, order, static_cast<lapack_int>(classes()), matrix.data(), order, pivots.data(),
                  theta.data(), order);
    for (std::size_t e = 0; e < theta.size(); ++e) theta[e] -= start[e];
    return theta;
  }

  // For each of `rows` and class, over all draws; as many rows at once as memory is for.
  std::vector<Simulated> simulated(const std::vector<double>& start, std::span<const double> rows) const {
    const std::vector<double> sums = product(start, matrix_, dim_);
    const std::size_t at_once = std::max<std::size_t>(1, kMostKeptDraws / (kDraws * classes()));
    std::vector<Simulated> result;
    for (std::size_t first = 0; first < rows.size() / dim_; first += at_once) {
      const std::size_t count = std::min(at_once, rows.size() / dim_ - first);
      std::vector<std::vector<double>> kept(count * classes());
      for (std::size_t draw = 0; draw < kDraws; ++draw) {
        const std::vector<double> moves =
            inner_products(rows.subspan(first * dim_, count * dim_), drawn(start, sums, draw), dim_);
        for (std::size_t e = 0; e < moves.size(); ++e) kept[e].push_back(moves[e]);
      }
      for (std::vector<double>& moves : kept) {
        std::ranges::sort(moves);
        const auto at = [&](double share) {
          const double place = share * static_cast<double>(kDraws - 1);
          const auto below = static_cast<std::size_t>(place);
          return moves[below] + (place - static_cast<double>(below)) * (moves[below + 1] - moves[below]);
        };
        constexpr double kNormal95 = 1.959963984540054;
        result.push_back({at(0.5), (at(0.975) - at(0.025)) / (2.0 * kNormal95)});
      }
    }
    return result;
  }

  const IntervalTerms& terms_;
  std::size_t dim_;
  std::vector<double> sums_;    // b~, K x d
  std::vector<double> matrix_;  // H~
  double gram_noise_ = 0.0;
  double sums_noise_ = 0.0;
  double kappa_ = 0.0;
  std::vector<double> inverse_;
  double trace_ = 0.0;                    // of it
  std::vector<double> released_weights_;  // theta~, K x d
  std::vector<double> weights_;           // less bias
};

}  // namespace

LinearIntervals linear_intervals(const Release& release, const Lattice& lattice, const IntervalTerms& terms) {
  NoisedRegression regression(release, lattice, terms);
  DPREDUCE_ASSERT(release.block("gram").sigma() > 0.0 && terms.ridge >= 0.0 && terms.rows.size() % lattice.dim == 0);
  DPREDUCE_ASSERT(terms.squared_targets.empty() || terms.squared_targets.size() == regression.classes());
  if (regression.kappa() > kMostKappa) return {.kind = IntervalKind::kNone, .kappa = regression.kappa()};
  return regression.kappa() < kMostKappaOfFormula ? regression.by_formula() : regression.by_simulation();
}

}  // namespace dpreduce
