#include "aggregator/solvers/target_ridge.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "aggregator/solvers/cleaned_ridge.hpp"
#include "common/base/error.hpp"
#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {
namespace {

// Measured on tables of 20 to 314 columns, and with d from 10 to 100 and n mu from 1,000 to 12,000: with a half of it
// up to .6 of R^2 are lost where d is large.
constexpr double kTargetRidgeInRadii = 1.0;
// Of the noise of the number of rows: below it, that number is not known.
constexpr double kLeastRowsInSigmas = 3.0;
// Of a row, without noise: a ridge is needed only where features are collinear.
constexpr double kExactRidge = 0.01;

}  // namespace

TargetRidge::TargetRidge(const ReleasedBlock& gram, const Preprocessing& rows)
    : dim_(rows.dim()),
      targets_(rows.targets.count),
      share_(rows.targets.share),
      clip_norm_(rows.clip_norm),
      constant_(std::sqrt((1.0 - share_) * rows.intercept) * rows.clip_norm) {
  DPREDUCE_ASSERT(targets_ >= 1 && share_ > 0.0 && rows.intercept > 0.0);
  const Lattice lattice{rows.clip_norm, rows.output_dim()};
  const std::size_t width = lattice.dim;
  const std::vector<double> matrix = gram_in_units(gram, lattice);
  const double sigma = gram.sigma() / (lattice.scale() * lattice.scale());
  count_ = std::max(matrix[dim_ * width + dim_], sigma > 0.0 ? kLeastRowsInSigmas * sigma : constant_ * constant_);
  for (std::size_t i = 0; i < dim_; ++i) feature_sums_.push_back(matrix[i * width + dim_]);
  for (std::size_t t = dim_ + 1; t < width; ++t) {
    for (std::size_t i = 0; i <= dim_; ++i) right_.push_back(matrix[i * width + t]);
  }
  std::vector<double> features(dim_ * dim_);
  for (std::size_t i = 0; i < dim_; ++i) {
    for (std::size_t j = i; j < dim_; ++j) {
      features[i * dim_ + j] = matrix[i * width + j] - feature_sums_[i] * feature_sums_[j] / count_;
    }
  }
  const double one_row = clip_norm_ * clip_norm_;
  if (sigma == 0.0) {
    exact_ = std::move(features);
    ridge_ = kExactRidge * one_row;
    return;
  }
  spectrum_.emplace(std::move(features), sigma);
  ridge_ = kTargetRidgeInRadii * spectrum_->noise_radius() + one_row;
}

std::vector<double> TargetRidge::solution() const {
  std::vector<double> weights = right_;
  solve(weights);
  // From products with z of y', sqrt(b) C times as large, to weights of u.
  const double factor = 1.0 / std::sqrt((1.0 - share_) * share_) / clip_norm_;
  for (double& weight : weights) weight *= factor;
  return weights;
}

void TargetRidge::solve(std::span<double> rows) const {
  DPREDUCE_ASSERT(rows.size() == targets_ * (dim_ + 1));
  std::vector<double> weights(targets_ * dim_);
  for (std::size_t t = 0; t < targets_; ++t) {
    const double* row = &rows[t * (dim_ + 1)];
    for (std::size_t i = 0; i < dim_; ++i) weights[t * dim_ + i] = row[i] - row[dim_] * feature_sums_[i] / count_;
  }
  if (spectrum_) {
    spectrum_->solve(weights, ridge_);
  } else {
    std::vector<double> matrix = exact_;
    solve_exact_ridge(matrix, ridge_, weights);
  }
  const double of_rows = 1.0 - share_;  // M_uu is that of z
  for (std::size_t t = 0; t < targets_; ++t) {
    double* row = &rows[t * (dim_ + 1)];
    for (std::size_t i = 0; i < dim_; ++i) {
      row[dim_] -= weights[t * dim_ + i] * feature_sums_[i];
      row[i] = of_rows * weights[t * dim_ + i];
    }
    row[dim_] *= of_rows / count_;
  }
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
