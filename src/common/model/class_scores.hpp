// The products of rows with a classifier's weights, in one fixed order of operations.
//
// Legend: K classes, d features, V a K x d matrix, U an n x d chunk of transformed rows.
//
// A library's matrix product sums a row's tail in another order than its body, so that a score would depend on where
// the row stands and on how the rows were split over ranks. Here each score is one plain sum over a = 0, 1, ..., d - 1;
// the speed comes from scores that are computed side by side.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dpreduce {

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

}  // namespace dpreduce
