#include "aggregator/solvers/target_ridge.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "aggregator/solvers/cleaned_ridge.hpp"
#include "common/base/error.hpp"
#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {
namespace {

// With half of it noise rules where d is large, and R^2 is up to .6 less (docs/experiments/regression.md, sets that
// constants were chosen on, and d to 100).
constexpr double kTargetRidgeInRadii = 1.0;
// Of the noise of the number of rows: below it, that number is not known.
constexpr double kLeastRowsInSigmas = 3.0;
// Of a row, without noise: a ridge is needed only where features are collinear.
constexpr double kExactRidge = 0.01;

}  // namespace

TargetRidge::TargetRidge(const ReleasedBlock& gram, const Preprocessing& rows)
    : dim_(rows.dim() + 1),
      targets_(rows.targets.count),
      share_(rows.targets.share),
      clip_norm_(rows.clip_norm),
      constant_(std::sqrt((1.0 - share_) * rows.intercept) * rows.clip_norm) {
  DPREDUCE_ASSERT(targets_ >= 1 && share_ > 0.0 && rows.intercept > 0.0);
  const Lattice lattice{rows.clip_norm, rows.output_dim()};
  const std::size_t width = lattice.dim;
  const std::vector<double> matrix = gram_in_units(gram, lattice);
  const double sigma = gram.sigma() / (lattice.scale() * lattice.scale());
  const std::size_t constant = dim_ - 1;
  for (std::size_t i = 0; i < dim_; ++i) sums_.push_back(matrix[i * width + constant]);
  count_ = std::max(sums_[constant], sigma > 0.0 ? kLeastRowsInSigmas * sigma : constant_ * constant_);
  largest_start_ = std::sqrt(share_) * clip_norm_ / constant_;
  for (std::size_t t = dim_; t < width; ++t) {
    for (std::size_t i = 0; i < dim_; ++i) right_.push_back(matrix[i * width + t]);
  }
  std::vector<double> of_rows(dim_ * dim_);
  for (std::size_t i = 0; i < dim_; ++i) std::copy_n(&matrix[i * width], dim_, &of_rows[i * dim_]);
  const double one_row = clip_norm_ * clip_norm_;
  if (sigma == 0.0) {
    exact_ = std::move(of_rows);
    ridge_ = kExactRidge * one_row;
    return;
  }
  spectrum_.emplace(std::move(of_rows), sigma);
  ridge_ = kTargetRidgeInRadii * spectrum_->noise_radius() + one_row;
}

std::vector<double> TargetRidge::solution() const {
  std::vector<double> weights = right_;
  std::vector<double> starts;
  for (std::size_t t = 0; t < targets_; ++t) {
    double* row = &weights[t * dim_];
    starts.push_back(std::clamp(row[dim_ - 1] / count_, -largest_start_, largest_start_));
    for (std::size_t i = 0; i < dim_; ++i) row[i] -= starts[t] * sums_[i];
  }
  solve(weights);
  for (std::size_t t = 0; t < targets_; ++t) weights[(t + 1) * dim_ - 1] += (1.0 - share_) * starts[t];
  // From products with z of y', sqrt(b) C times as large, to weights of u.
  const double factor = 1.0 / std::sqrt((1.0 - share_) * share_) / clip_norm_;
  for (double& weight : weights) weight *= factor;
  return weights;
}

void TargetRidge::solve(std::span<double> rows) const {
  DPREDUCE_ASSERT(rows.size() == targets_ * dim_);
  if (spectrum_) {
    spectrum_->solve(rows, ridge_);
  } else {
    std::vector<double> matrix = exact_;
    solve_exact_ridge(matrix, ridge_, rows);
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
