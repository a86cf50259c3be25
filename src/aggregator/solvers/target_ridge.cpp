#include "aggregator/solvers/target_ridge.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "aggregator/solvers/cleaned_ridge.hpp"
#include "aggregator/solvers/gram_spectrum.hpp"
#include "common/base/error.hpp"
#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {
namespace {

// Measured, with d from 10 to 100 and n mu from 1,000 to 12,000: with a half of it up to .02 of R^2 are lost, with a
// tenth much more where d is large.
constexpr double kTargetRidgeInRadii = 1.0;
// Of the noise of the number of rows: below it, that number is not known.
constexpr double kLeastRowsInSigmas = 3.0;
// Without noise a ridge is needed only where features are collinear.
constexpr double kExactRidge = 1e-9;

// The parts of M, whose upper triangle is there.
struct Parts {
  std::vector<double> features{};      // M_xx, d x d
  std::vector<double> targets{};       // M_yx, m x d
  std::vector<double> feature_sums{};  // M_xk
  std::vector<double> target_sums{};   // M_yk
  double count = 0.0;                  // M_kk
};

Parts parts_of(const std::vector<double>& matrix, std::size_t dim, std::size_t count) {
  const std::size_t width = dim + 1 + count;
  Parts parts{.features = std::vector<double>(dim * dim), .targets = std::vector<double>(count * dim)};
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t j = i; j < dim; ++j) parts.features[i * dim + j] = matrix[i * width + j];
    parts.feature_sums.push_back(matrix[i * width + dim]);
    for (std::size_t t = 0; t < count; ++t) parts.targets[t * dim + i] = matrix[i * width + dim + 1 + t];
  }
  parts.count = matrix[dim * width + dim];
  for (std::size_t t = 0; t < count; ++t) parts.target_sums.push_back(matrix[dim * width + dim + 1 + t]);
  return parts;
}

// A and B.
void take_means_out(Parts& parts) {
  const std::size_t dim = parts.feature_sums.size();
  for (std::size_t i = 0; i < dim; ++i) {
    const double mean = parts.feature_sums[i] / parts.count;
    for (std::size_t j = i; j < dim; ++j) parts.features[i * dim + j] -= mean * parts.feature_sums[j];
    for (std::size_t t = 0; t < parts.target_sums.size(); ++t) {
      parts.targets[t * dim + i] -= mean * parts.target_sums[t];
    }
  }
}

}  // namespace

LinearScores solve_target_ridge(const ReleasedBlock& gram, const Preprocessing& rows) {
  const std::size_t dim = rows.dim();
  const std::size_t count = rows.targets.count;
  DPREDUCE_ASSERT(count >= 1 && rows.targets.share > 0.0 && rows.intercept > 0.0);
  const Lattice lattice{rows.clip_norm, rows.output_dim()};
  const double unit = lattice.scale() * lattice.scale();
  const double sigma = gram.sigma() / unit;
  const double one_row = rows.clip_norm * rows.clip_norm;
  Parts parts = parts_of(gram_in_units(gram, lattice), dim, count);
  const double constant = std::sqrt((1.0 - rows.targets.share) * rows.intercept) * rows.clip_norm;
  parts.count = std::max(parts.count, sigma > 0.0 ? kLeastRowsInSigmas * sigma : constant * constant);
  take_means_out(parts);
  std::vector<double> weights = parts.targets;
  if (sigma == 0.0) {
    double trace = 0.0;
    for (std::size_t i = 0; i < dim; ++i) trace += parts.features[i * dim + i];
    solve_exact_ridge(parts.features, kExactRidge * (trace / static_cast<double>(dim) + one_row), weights);
  } else {
    const GramSpectrum spectrum(std::move(parts.features), sigma);
    spectrum.solve(weights, kTargetRidgeInRadii * spectrum.noise_radius() + one_row);
  }

  const double of_targets = std::sqrt(rows.targets.share) * rows.clip_norm;
  const double of_features = std::sqrt((1.0 - rows.targets.share) * (1.0 - rows.intercept));
  LinearScores scores{.weights = weights, .bias = parts.target_sums};
  for (std::size_t t = 0; t < count; ++t) {
    for (std::size_t i = 0; i < dim; ++i) scores.bias[t] -= weights[t * dim + i] * parts.feature_sums[i];
    scores.bias[t] *= constant / (parts.count * of_targets);
  }
  for (double& weight : scores.weights) weight *= of_features / of_targets;
  return scores;
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
