// Ridge regression on numbers from one released Gram matrix of rows and targets.
//
// Legend: u = (sqrt(1 - a) x, sqrt(a) C) a row of d features and a constant, z = (sqrt(1 - b) u, sqrt(b) C y') the row
// that was released, with m targets; M the Gram matrix of z, noise of standard deviation s on its diagonal; k the place
// of the constant.
//
//     start = (0, M_yk / M_kk), within what y' can be         the mean alone
//     solution = start + (M_yu - start M_uu) (M_uu + ridge I)^-1      ridge = w + C^2, w = s sqrt((d + 1) / 2)
//
// The ridge so shrinks toward predicting the mean, and M_uu is cleaned of its noise. Of a gradient, which is made of
// rows themselves, the same inverse is a Newton step. The mean is not taken out of M_uu first: M_xk holds noise in
// every feature, as large as the mean itself where n is small beside d. AdaSSP's idea, a ridge as large as the noise in
// the matrix, with noise that is symmetric and exactly known. Where M_kk, the number of rows times the constant's
// square, is less than 3 s, it is taken to be that. Post-processing of release "gram". Source: [wang2018].
#pragma once

#include <span>
#include <vector>

#include "aggregator/solvers/gram_spectrum.hpp"
#include "aggregator/solvers/linear_scores.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/plan/released_block.hpp"

namespace dpreduce {

class TargetRidge {
 public:
  /// `rows` are those of the release: with an intercept, and targets in the row. Preconditions (asserted): the block is
  /// their Gram matrix's upper triangle. Errors: as GramSpectrum.
  TargetRidge(const ReleasedBlock& gram, const Preprocessing& rows);

  /// The regression of y' on u, m x (d + 1).
  std::vector<double> solution() const;

  /// rows <- rows (sum u u^T + ridge)^-1, m x (d + 1): a gradient's Newton step.
  void solve(std::span<double> rows) const;

  /// The noised number of rows, at least that of the noise.
  double rows() const { return count_ / (constant_ * constant_); }

 private:
  std::size_t dim_;                       // d + 1
  std::size_t targets_;                   // m
  double share_;                          // b
  double clip_norm_;                      // C
  double constant_;                       // of z
  double count_ = 0.0;                    // M_kk, at least 3 s
  double largest_start_ = 0.0;            // of |y'| = 1
  std::vector<double> sums_;              // M_uk
  std::vector<double> right_;             // M_yu, m x (d + 1)
  std::vector<double> exact_;             // M_uu, without noise
  std::optional<GramSpectrum> spectrum_;  // with noise
  double ridge_ = 0.0;
};

/// Scores of y' as scores of y = c + h y'.
LinearScores in_units_of_targets(LinearScores scores, const TargetColumns& targets);

}  // namespace dpreduce
