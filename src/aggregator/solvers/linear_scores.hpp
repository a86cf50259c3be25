// Scores that are linear in a row, in which solvers end, and the choice of the features that they use.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
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

// Ranking of features by how well they separate classes, from released numbers: post-processing, so that ranking costs
// nothing. Source: [shen2021], Definition 7 and Algorithm 1, corrected: it ranks exact means, at no charge.

/// sum over pairs c < e of |m_ca - m_ea|, for every feature a: what the distance criterion is for two classes.
/// Shapes: means K x d, row-major. Cost: d K log K.
std::vector<double> class_distances(std::span<const double> means, std::size_t dim);

/// Indices of the `count` largest scores, ascending; of equal ones those with the smaller index. Precondition
/// (asserted): count <= scores.
std::vector<std::size_t> largest_features(std::span<const double> scores, std::size_t count);

/// Sets the entries of every row (of `dim` entries) to 0 but those at the indices.
void keep_features(std::span<double> rows, std::size_t dim, std::span<const std::size_t> indices);

}  // namespace dpreduce
