#include "aggregator/solvers/ridge_figures.hpp"

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
#include "common/base/error.hpp"

namespace dpreduce {

ReleasedBlock with_noise(const ReleasedBlock& block, double factor, std::size_t triangle, NormalStream normals) {
  std::vector<std::int64_t> values(block.values().begin(), block.values().end());
  std::size_t column = 0;
  std::size_t row = 0;
  for (std::int64_t& value : values) {
    const bool is_beside = triangle > 0 && column > row;
    value += std::llround(factor * block.sigma() * normals.next() * (is_beside ? std::sqrt(0.5) : 1.0));
    if (triangle > 0 && ++column == triangle) column = ++row;
  }
  return {block.name(), std::move(values), block.sigma() * std::hypot(1.0, factor)};
}

namespace {

// The smaller, the less noise W has beside that of the release, and the more the second part has.
constexpr double kFission = 0.5;

// A release by its eigenvectors: eigenvalues, and class sums along them.
struct SplitRelease {
  SplitRelease(const Release& release, const Lattice& lattice, std::size_t most_components)
      : spectrum(release.block("gram"), lattice),
        sums(spectrum.coordinates(in_units(release.block("class_sums"), lattice.scale()))),
        components(most_components) {}

  std::vector<double> factors(double ridge) const { return spectrum.inverse_factors(ridge, components); }

  GramSpectrum spectrum;
  std::vector<double> sums;  // C = B V^T, K x d
  std::size_t components;    // that W may have a part of; 0: all
};

// sum_c C_cj D_cj for each j.
std::vector<double> products_of_columns(std::span<const double> one, std::span<const double> other, std::size_t dim) {
  std::vector<double> products(dim, 0.0);
  for (std::size_t e = 0; e < one.size(); ++e) products[e % dim] += one[e] * other[e];
  return products;
}

// Adds tr(W G W^T) - 2 tr(W B^T) for each ridge, W of `train` and the rest of `held_out`. Along the eigenvectors of
// `train`, W = C diag(f) and G is M, so that the trace is sum_jk f_j f_k (C^T C o M)_jk: d^2 for each ridge.
void add_losses(const SplitRelease& train, const Release& held_out, const Lattice& lattice,
                std::span<const double> ridges, std::vector<double>& losses) {
  const std::size_t dim = lattice.dim;
  const auto order = static_cast<int>(dim);
  const auto classes = static_cast<int>(train.sums.size() / dim);
  std::vector<double> matrix =
      train.spectrum.coordinates(symmetric(gram_in_units(held_out.block("gram"), lattice), dim));
  std::vector<double> transposed(dim * dim);
  for (std::size_t a = 0; a < dim; ++a) {
    for (std::size_t b = 0; b < dim; ++b) transposed[b * dim + a] = matrix[a * dim + b];
  }
  matrix = train.spectrum.coordinates(transposed);
  std::vector<double> squares(dim * dim);  // C^T C
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, order, order, classes, 1.0, train.sums.data(), order,
              train.sums.data(), order, 0.0, squares.data(), order);
  for (std::size_t e = 0; e < matrix.size(); ++e) matrix[e] *= squares[e];
  const std::vector<double> cross = products_of_columns(
      train.sums, train.spectrum.coordinates(in_units(held_out.block("class_sums"), lattice.scale())), dim);
  std::vector<double> product(dim);
  for (std::size_t m = 0; m < ridges.size(); ++m) {
    const std::vector<double> factors = train.factors(ridges[m]);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, order, order, 1.0, matrix.data(), order, factors.data(), 1, 0.0,
                product.data(), 1);
    for (std::size_t j = 0; j < dim; ++j) losses[m] += factors[j] * (product[j] - 2.0 * cross[j]);
  }
}

}  // namespace

std::vector<RidgePoint> ridge_path(const Release& release, const Lattice& lattice, std::span<const double> ridges,
                                   const RowTotals& rows, std::uint64_t seed, std::size_t components) {
  const ReleasedBlock& gram = release.block("gram");
  const ReleasedBlock& sums = release.block("class_sums");
  DPREDUCE_ASSERT(gram.sigma() > 0.0 && sums.sigma() > 0.0 && rows.count >= 1.0 && components <= lattice.dim);
  std::vector<double> losses(ridges.size(), 0.0);
  const auto with_factor = [&](double factor) {
    return Release({with_noise(gram, factor, lattice.dim, {seed, 0}), with_noise(sums, factor, 0, {seed, 1})});
  };
  for (const double sign : {1.0, -1.0}) {
    const SplitRelease train(with_factor(sign * kFission), lattice, components);
    add_losses(train, with_factor(-sign / kFission), lattice, ridges, losses);
  }

  const SplitRelease whole(release, lattice, components);
  const std::vector<double> squares = products_of_columns(whole.sums, whole.sums, lattice.dim);
  const double classes = static_cast<double>(whole.sums.size() / lattice.dim);
  const double scale = lattice.scale();
  const double gram_variance = std::pow(gram.sigma() / (scale * scale), 2) / 2.0;
  const double sums_variance = classes * std::pow(sums.sigma() / scale, 2);
  std::vector<RidgePoint> path;
  for (std::size_t m = 0; m < ridges.size(); ++m) {
    const std::vector<double> factors = whole.factors(ridges[m]);
    double squared_norm_of_weights = 0.0;
    double degrees = 0.0;
    double spread = 0.0;
    double own = 0.0;
    for (std::size_t j = 0; j < factors.size(); ++j) {
      const double g = whole.spectrum.eigenvalues()[j];
      const double squared = factors[j] * factors[j];
      squared_norm_of_weights += squares[j] * squared;
      degrees += g * factors[j];
      spread += g * squared;
      own += squares[j] * squared * g * squared;
    }
    const double noise = (sums_variance + gram_variance * squared_norm_of_weights) * spread + gram_variance * own;
    const double scores = rows.count * classes;
    const double loss = std::max(0.0, (losses[m] / 2.0 + rows.squared_targets) / scores);
    path.push_back({ridges[m], std::sqrt(noise / scores), loss * (1.0 + 2.0 * degrees / rows.count)});
  }
  return path;
}

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
