// Ridge regression on numbers from one released Gram matrix of rows and targets.
//
// Legend: u = (sqrt(1 - a) x, sqrt(a) C) a row of d features and a constant, z = (sqrt(1 - b) u, sqrt(b) C y') the row
// that was released, with m targets; M the Gram matrix of z, noise of standard deviation s on its diagonal; k the place
// of the constant.
//
//     A = M_xx - M_xk M_kx / M_kk        ridge = w + C^2, w = s sqrt(d / 2): A cleaned of its noise
//     (X, K) -> ((X - K M_kx / M_kk) (A + ridge I)^-1 =: W, (K - W M_xk) / M_kk)
//
// solves W' (M_uu + ridge on features) = (X, K): the mean is taken out first, and not shrunk. Of (M_yx, M_yk) that is
// the regression; of a gradient a Newton step. AdaSSP's idea, a ridge as large as the noise in the matrix, with noise
// that is symmetric and exactly known. Where M_kk, the number of rows times the constant's square, is less than 3 s, it
// is taken to be that. Post-processing of release "gram". Source: [wang2018].
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
  std::size_t dim_;                   // d
  std::size_t targets_;               // m
  double share_;                      // b
  double clip_norm_;                  // C
  double constant_;                   // of z
  double count_;                      // M_kk
  std::vector<double> feature_sums_;  // M_xk
  std::vector<double> right_;         // M_yx and M_yk, m x (d + 1)
  std::vector<double> exact_;         // A, without noise
  std::optional<GramSpectrum> spectrum_;
  double ridge_ = 0.0;
};

/// Scores of y' as scores of y = c + h y'.
LinearScores in_units_of_targets(LinearScores scores, const TargetColumns& targets);

}  // namespace dpreduce
