// Solvers end in scores that are linear in a row.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "common/lattice/row_transform.hpp"

namespace dpreduce {

/// scores(x) = W x + b, W row-major classes x dim; with prototypes softmax(W x + b) + softmax(cosines to prototypes).
struct LinearScores {
  std::vector<double> weights;
  std::vector<double> bias;
  std::vector<double> cosine_head{};  ///< the prototypes, classes x dim, or empty
  std::optional<double> threshold{};  ///< from which on a class is more likely a row's than not, where data decided it
};

/// Scores of rows (sqrt(1 - a) v, sqrt(a) C) as scores of v: the intercept's weight becomes the bias.
/// Shapes: weights K x preprocessing.output_dim(). Without an intercept, W as it is and b = 0.
LinearScores fold_intercept(const std::vector<double>& weights, const Preprocessing& preprocessing);

}  // namespace dpreduce
