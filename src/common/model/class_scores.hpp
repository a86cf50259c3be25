// Products of rows with a classifier's weights, and probabilities computed from them by a link.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/base/described_types.hpp"

namespace dpreduce {

// Link from a classifier's scores to probabilities.

/// Model files spell it.
enum class Link {
  kSoftmax,  ///< of the K scores of a row together
  kSigmoid   ///< of each score by itself
};

template <>
inline constexpr auto spellings<Link> = spelled<Link>("softmax", "sigmoid");

// The products of rows with a classifier's weights, in one fixed order of operations.
//
// Legend: K classes, d features, V a K x d matrix, U an n x d chunk of transformed rows.
//
// A library's matrix product sums a row's tail in another order than its body, so that a score would depend on where
// the row stands and on how the rows were split over ranks. Here each score is one plain sum over a = 0, 1, ..., d - 1;
// the speed comes from scores that are computed side by side.

class ClassScores {
 public:
  /// Keeps a copy of `matrix` (K x d, row-major) in tiles of eight classes. Cost: K * d doubles.
  ClassScores(std::span<const double> matrix, std::size_t classes, std::size_t dim);

  /// scores_rk = sum_a U_ra V_ka, in the order of a. `rows` is n x d, `scores` n x K, both row-major; sizes are
  /// asserted. Cost: n K d multiply-adds.
  void operator()(std::span<const double> rows, std::span<double> scores) const;

 private:
  std::size_t classes_;
  std::size_t dim_;
  std::vector<double> tiles_;  // [tile][feature][class within the tile]; the last tile is filled up with zeros
};

// Probabilities computed from scores.
//
// Legend: s the K scores of a row.
//
//     softmax       p_k = exp(s_k) / sum_j exp(s_j)       the row is of one class
//     sigmoid       p_k = 1 / (1 + exp(-s_k))             of each class or not, whatever the others
//
// These are the class probabilities of the losses of the same names. They come from noised sums, and are not calibrated
// frequencies.

/// v <- softmax(v). Precondition: not empty, finite entries.
void softmax(std::span<double> v);

/// v <- the probabilities of scores v. Precondition: not empty, finite entries.
void to_probabilities(Link link, std::span<double> v);

}  // namespace dpreduce
