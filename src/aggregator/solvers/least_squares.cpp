#include "aggregator/solvers/least_squares.hpp"

#include <algorithm>
#include <cmath>

#include "aggregator/solvers/cleaned_ridge.hpp"
#include "aggregator/solvers/gram_spectrum.hpp"
#include "common/base/error.hpp"
#include "common/plan/triangle.hpp"

namespace dpreduce {

std::vector<double> in_units(const ReleasedBlock& block, double unit) {
  std::vector<double> values(block.values().size());
  std::transform(block.values().begin(), block.values().end(), values.begin(),
                 [unit](std::int64_t value) { return static_cast<double>(value) / unit; });
  return values;
}

std::vector<std::vector<double>> solve_least_squares(const Release& release, const Lattice& lattice,
                                                     double ridge_in_radii, std::span<const double> factors,
                                                     std::size_t components) {
  const ReleasedBlock& gram = release.block("gram");
  const std::vector<double> class_sums = in_units(release.block("class_sums"), lattice.scale());
  std::vector<std::vector<double>> solutions(factors.size(), class_sums);
  const double one_row = lattice.clip_norm * lattice.clip_norm;
  if (gram.sigma() == 0.0) {
    for (std::size_t m = 0; m < factors.size(); ++m) {
      std::vector<double> matrix = gram_in_units(gram, lattice);
      solve_exact_ridge(matrix, factors[m] * one_row, solutions[m]);
    }
    return solutions;
  }
  const GramSpectrum spectrum(gram, lattice);
  const double ridge = ridge_in_radii * spectrum.noise_radius() + one_row;
  for (std::size_t m = 0; m < factors.size(); ++m) spectrum.solve(solutions[m], factors[m] * ridge, components);
  return solutions;
}

namespace {

constexpr double kRidgeInRadii = 0.7;

}  // namespace

ClassLeastSquares::ClassLeastSquares(const ClassRidge& ridge, const Lattice& lattice, const ReleasedBlock* gram)
    : ridge_(ridge), lattice_(lattice), gram_(ridge.alpha > 0.0 ? gram : nullptr) {
  DPREDUCE_ASSERT(ridge.alpha >= 0.0 && std::isfinite(ridge.alpha) && ridge.ridge_factor > 0.0);
  DPREDUCE_ASSERT(!ridge.lambda || *ridge.lambda > 0.0);
  DPREDUCE_ASSERT((gram_ != nullptr) == (ridge.alpha > 0.0));
  DPREDUCE_ASSERT(gram_ == nullptr || gram_->values().size() == triangle_elements(lattice.dim));
}

std::vector<double> ClassLeastSquares::solve(const ReleasedBlock& class_gram,
                                             std::span<const std::int64_t> class_sum) const {
  const std::size_t dim = lattice_.dim;
  DPREDUCE_ASSERT(class_gram.values().size() == triangle_elements(dim) && class_sum.size() == dim);
  const double alpha = ridge_.alpha;
  // M = (A_j + alpha G) / (1 + alpha), whose noise does not grow with alpha.
  const double unit = lattice_.scale() * lattice_.scale() * (1.0 + alpha);
  std::vector<double> matrix(dim * dim, 0.0);
  for (std::size_t i = 0; i < dim; ++i) {
    const std::size_t row = triangle_row(i, dim);
    for (std::size_t j = i; j < dim; ++j) {
      double entry = static_cast<double>(class_gram.values()[row + j - i]);
      if (gram_ != nullptr) entry += alpha * static_cast<double>(gram_->values()[row + j - i]);
      matrix[i * dim + j] = entry / unit;
    }
  }
  const double sigma = std::hypot(class_gram.sigma(), gram_ != nullptr ? alpha * gram_->sigma() : 0.0) / unit;
  const double radius = sigma * std::sqrt(static_cast<double>(dim) / 2.0);
  const double usual = kRidgeInRadii * radius + lattice_.clip_norm * lattice_.clip_norm;
  const double ridge = ridge_.lambda ? *ridge_.lambda / (1.0 + alpha) : ridge_.ridge_factor * usual;

  std::vector<double> theta(dim);
  for (std::size_t a = 0; a < dim; ++a) {
    theta[a] = static_cast<double>(class_sum[a]) / (lattice_.scale() * (1.0 + alpha));
  }
  solve_cleaned(matrix, radius, ridge, theta);
  return theta;
}

}  // namespace dpreduce
