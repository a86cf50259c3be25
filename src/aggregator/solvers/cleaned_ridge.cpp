#include "aggregator/solvers/cleaned_ridge.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

#include <cblas.h>
#include <lapacke.h>

#include "aggregator/solvers/blas.hpp"
#include "common/base/error.hpp"
#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {

void solve_exact_ridge(std::span<double> gram, double ridge, std::span<double> rows) {
  const auto dim = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(gram.size()))));
  DPREDUCE_ASSERT(dim > 0 && gram.size() == dim * dim && rows.size() % dim == 0);
  use_one_blas_thread();
  for (std::size_t i = 0; i < dim; ++i) gram[i * dim + i] += ridge;
  // The upper triangle by rows is the lower one by columns, and rows are LAPACK's right-hand sides.
  const auto order = static_cast<lapack_int>(dim);
  const auto count = static_cast<lapack_int>(rows.size() / dim);
  if (LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', order, count, gram.data(), order, rows.data(), order) != 0) {
    throw std::runtime_error("a Gram matrix with its ridge is not positive definite; give a larger --lambda");
  }
}

namespace {

constexpr std::size_t kMostSteps = 128;
constexpr std::size_t kFirstCheck = 16;
constexpr double kTolerance = 1e-4;
// A residual of this size beside the matrix is rounding: the Krylov space is complete.
constexpr double kBreakdown = 1e-13;

// Lanczos' recurrence M v_k = beta_{k-1} v_{k-1} + alpha_k v_k + beta_k v_{k+1}, orthogonalized twice in full.
class Krylov {
 public:
  Krylov(std::span<const double> matrix, std::span<const double> start)
      : matrix_(matrix), dim_(start.size()), order_(static_cast<int>(start.size())) {
    norm_ = cblas_dnrm2(order_, start.data(), 1);
    basis_.assign(start.begin(), start.end());
    cblas_dscal(order_, 1.0 / norm_, basis_.data(), 1);
  }

  std::size_t steps() const { return diagonal_.size(); }

  // False where the space is complete: every further vector would be 0.
  bool step() {
    const int vectors = static_cast<int>(diagonal_.size()) + 1;
    const double* last = basis_.data() + diagonal_.size() * dim_;
    std::vector<double> next(dim_);
    // The upper triangle by rows is the lower one by columns.
    cblas_dsymv(CblasColMajor, CblasLower, order_, 1.0, matrix_.data(), order_, last, 1, 0.0, next.data(), 1);
    diagonal_.push_back(cblas_ddot(order_, last, 1, next.data(), 1));
    std::vector<double> overlap(static_cast<std::size_t>(vectors));
    for (int pass = 0; pass < 2; ++pass) {
      cblas_dgemv(CblasRowMajor, CblasNoTrans, vectors, order_, 1.0, basis_.data(), order_, next.data(), 1, 0.0,
                  overlap.data(), 1);
      cblas_dgemv(CblasRowMajor, CblasTrans, vectors, order_, -1.0, basis_.data(), order_, overlap.data(), 1, 1.0,
                  next.data(), 1);
    }
    const double beta = cblas_dnrm2(order_, next.data(), 1);
    largest_ = std::max({largest_, std::abs(diagonal_.back()), beta});
    if (beta <= kBreakdown * largest_) return false;
    beside_.push_back(beta);
    cblas_dscal(order_, 1.0 / beta, next.data(), 1);
    basis_.insert(basis_.end(), next.begin(), next.end());
    return true;
  }

  // Coordinates of f(M) start in the basis: |start| Z f(Lambda) Z^T e_1 with T = Z Lambda Z^T, M of that trace.
  std::vector<double> coordinates(double trace, double noise_radius, double ridge) const {
    const std::size_t steps = diagonal_.size();
    std::vector<double> values = diagonal_;
    std::vector<double> beside(beside_.begin(), beside_.begin() + static_cast<std::ptrdiff_t>(steps - 1));
    beside.push_back(0.0);
    std::vector<double> vectors(steps * steps);
    const auto order = static_cast<lapack_int>(steps);
    require_lapack(LAPACKE_dstev(LAPACK_COL_MAJOR, 'V', order, values.data(), beside.data(), vectors.data(), order));
    const double middle = middle_of_bulk(values, trace, dim_, noise_radius);
    std::vector<double> result(steps, 0.0);
    for (std::size_t k = 0; k < steps; ++k) {
      const double f = 1.0 / (shrunk_eigenvalue(values[k], noise_radius, middle) + ridge);
      const double weight = norm_ * vectors[k * steps] * f;
      for (std::size_t i = 0; i < steps; ++i) result[i] += weight * vectors[k * steps + i];
    }
    return result;
  }

  void combine(std::span<const double> coordinates, std::span<double> x) const {
    cblas_dgemv(CblasRowMajor, CblasTrans, static_cast<int>(coordinates.size()), order_, 1.0, basis_.data(), order_,
                coordinates.data(), 1, 0.0, x.data(), 1);
  }

 private:
  std::span<const double> matrix_;
  std::size_t dim_;
  int order_;
  double norm_ = 0.0;
  double largest_ = 0.0;
  std::vector<double> basis_;     // one vector a row
  std::vector<double> diagonal_;  // alpha
  std::vector<double> beside_;    // beta
};

}  // namespace

double middle_of_bulk(std::span<const double> ascending, double trace, std::size_t dim, double noise_radius) {
  DPREDUCE_ASSERT(dim > 0 && ascending.size() <= dim);
  const auto middle = [&] { return std::max(trace, 0.0) / static_cast<double>(dim); };
  for (auto value = ascending.rbegin(); value != ascending.rend(); ++value) {
    if (dim == 1 || *value <= middle() + 2.0 * noise_radius) break;
    trace -= *value;
    --dim;
  }
  return middle();
}

double shrunk_eigenvalue(double eigenvalue, double noise_radius, double middle) {
  const double beyond = eigenvalue - middle;
  if (std::abs(beyond) < 2.0 * noise_radius) return middle;
  const double root = std::sqrt(beyond * beyond - 4.0 * noise_radius * noise_radius);
  return std::max(middle + 0.5 * (beyond + std::copysign(root, beyond)), 0.0);
}

void solve_cleaned(std::span<double> matrix, double noise_radius, double ridge, std::span<double> x) {
  const std::size_t dim = x.size();
  DPREDUCE_ASSERT(matrix.size() == dim * dim && ridge > 0.0 && noise_radius >= 0.0);
  use_one_blas_thread();
  if (noise_radius == 0.0) return solve_exact_ridge(matrix, ridge, x);
  if (std::all_of(x.begin(), x.end(), [](double entry) { return entry == 0.0; })) return;

  double trace = 0.0;
  for (std::size_t i = 0; i < dim; ++i) trace += matrix[i * dim + i];
  Krylov krylov(matrix, x);
  std::vector<double> coordinates;
  std::size_t next_check = kFirstCheck;
  for (bool goes_on = true; goes_on;) {
    goes_on = krylov.step() && krylov.steps() < std::min(dim, kMostSteps);
    if (goes_on && krylov.steps() < next_check) continue;
    next_check += next_check / 2;
    std::vector<double> better = krylov.coordinates(trace, noise_radius, ridge);
    coordinates.resize(better.size(), 0.0);
    const double change = std::inner_product(better.begin(), better.end(), coordinates.begin(), 0.0, std::plus<>(),
                                             [](double one, double other) { return (one - other) * (one - other); });
    const double size = std::inner_product(better.begin(), better.end(), better.begin(), 0.0);
    coordinates = std::move(better);
    if (change <= kTolerance * kTolerance * size) break;
  }
  krylov.combine(coordinates, x);
}

namespace {

// With half of it noise rules where d is large, and R^2 is up to .6 less (docs/experiments/regression.md, sets that
// constants were chosen on, and d to 100).
constexpr double kTargetRidgeInRadii = 1.0;
// Least number of rows, in standard deviations of its noise: below it, that number is not known.
constexpr double kLeastRowsInSigmas = 3.0;
// Ridge without noise, in units of one row: it is needed only where features are collinear.
constexpr double kExactRidge = 0.01;

// `chosen`, or all places from `first` on.
std::vector<std::size_t> places_from(std::size_t first, std::size_t count, std::span<const std::size_t> chosen) {
  std::vector<std::size_t> places(chosen.empty() ? count : chosen.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = first + (chosen.empty() ? i : chosen[i]);
  return places;
}

}  // namespace

TargetRidge::TargetRidge(const ReleasedBlock& gram, const Preprocessing& rows, const TargetChoice& choice)
    : dim_((choice.features.empty() ? rows.dim() : choice.features.size()) + 1),
      targets_(choice.targets.empty() ? rows.targets.count : choice.targets.size()),
      share_(rows.targets.share),
      clip_norm_(rows.clip_norm),
      constant_(std::sqrt((1.0 - share_) * rows.intercept) * rows.clip_norm) {
  DPREDUCE_ASSERT(targets_ >= 1 && share_ > 0.0 && rows.intercept > 0.0);
  const Lattice lattice{rows.clip_norm, rows.output_dim()};
  const std::size_t width = lattice.dim;
  const std::vector<double> matrix = gram_in_units(gram, lattice);
  const double sigma = gram.sigma() / (lattice.scale() * lattice.scale());
  std::vector<std::size_t> columns = places_from(0, rows.dim(), choice.features);
  const std::size_t constant = rows.dim();
  columns.push_back(constant);
  const auto entry = [&](std::size_t one, std::size_t other) {
    return matrix[std::min(one, other) * width + std::max(one, other)];
  };
  for (const std::size_t i : columns) sums_.push_back(entry(i, constant));
  count_ = std::max(sums_.back(), sigma > 0.0 ? kLeastRowsInSigmas * sigma : constant_ * constant_);
  largest_start_ = std::sqrt(share_) * clip_norm_ / constant_;
  for (const std::size_t t : places_from(constant + 1, rows.targets.count, choice.targets)) {
    for (const std::size_t i : columns) right_.push_back(entry(i, t));
  }
  std::vector<double> of_rows;
  for (const std::size_t i : columns) {
    for (const std::size_t j : columns) of_rows.push_back(entry(i, j));
  }
  const double one_row = clip_norm_ * clip_norm_;
  if (sigma == 0.0) {
    exact_ = std::move(of_rows);
    ridge_ = choice.ridge.value_or(kExactRidge * one_row);
    return;
  }
  spectrum_.emplace(std::move(of_rows), sigma);
  ridge_ = choice.ridge.value_or(kTargetRidgeInRadii * spectrum_->noise_radius() + one_row);
}

double TargetRidge::unit() const {
  return std::sqrt((1.0 - share_) / share_) / clip_norm_;
}

std::vector<double> TargetRidge::starts() const {
  std::vector<double> starts;
  for (std::size_t t = 0; t < targets_; ++t) {
    starts.push_back(std::clamp(right_[(t + 1) * dim_ - 1] / count_, -largest_start_, largest_start_));
  }
  return starts;
}

std::vector<double> TargetRidge::solution(double ridges) const {
  std::vector<double> weights = right_;
  const std::vector<double> starts = this->starts();
  for (std::size_t t = 0; t < targets_; ++t) {
    for (std::size_t i = 0; i < dim_; ++i) weights[t * dim_ + i] -= starts[t] * sums_[i];
  }
  solve(weights, ridges);
  for (std::size_t t = 0; t < targets_; ++t) weights[(t + 1) * dim_ - 1] += (1.0 - share_) * starts[t];
  // From products with z of y', sqrt(b) C times as large, to weights of u.
  const double factor = 1.0 / std::sqrt((1.0 - share_) * share_) / clip_norm_;
  for (double& weight : weights) weight *= factor;
  return weights;
}

void TargetRidge::solve(std::span<double> rows, double ridges) const {
  DPREDUCE_ASSERT(rows.size() == targets_ * dim_);
  if (spectrum_) {
    spectrum_->solve(rows, ridges * ridge_);
  } else {
    std::vector<double> matrix = exact_;
    solve_exact_ridge(matrix, ridges * ridge_, rows);
  }
  for (double& entry : rows) entry *= 1.0 - share_;  // M_uu is that of z
}

LinearScores in_units_of_targets(LinearScores scores, const TargetColumns& targets) {
  const std::size_t dim = scores.weights.size() / targets.count;
  for (std::size_t t = 0; t < targets.count; ++t) {
    for (std::size_t i = 0; i < dim; ++i) scores.weights[t * dim + i] *= targets.scale[t];
    scores.bias[t] = targets.center[t] + targets.scale[t] * scores.bias[t];
  }
  return scores;
}

}  // namespace dpreduce
