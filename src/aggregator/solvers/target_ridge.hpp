// Ridge regression on numbers from one released Gram matrix of rows and targets.
//
// Legend: rows z = (sqrt(1 - b) (sqrt(1 - a) x, sqrt(a) C), sqrt(b) C y') of d features, a constant k and m targets;
// M their released Gram matrix, with noise of standard deviation s on the diagonal.
//
//     A = M_xx - M_xk M_kx / M_kk        B = M_yx - M_yk M_kx / M_kk        the mean is taken out, and not shrunk
//     W = B (A + ridge I)^-1             ridge = w + C^2, w = s sqrt(d / 2): A cleaned of its noise
//     y' = W x + (M_yk - W M_xk) / M_kk k                                   and back into units of x and y
//
// AdaSSP's idea, a ridge as large as the noise in the matrix, with noise that is symmetric and exactly known. Where
// M_kk, the number of rows times k^2, is less than 3 s, it is taken to be that. Post-processing of release "gram".
// Source: [wang2018] for the ridge; PRIVACY of one row, docs/explanation/sensitivities.md, "Numbers as targets".
#pragma once

#include "aggregator/solvers/linear_scores.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/plan/released_block.hpp"

namespace dpreduce {

/// Scores of features, m x d, that predict y', in its units. `rows` are those of the release: with an intercept, and
/// targets in the row. Preconditions (asserted): the block is their Gram matrix's upper triangle.
/// Errors: as GramSpectrum.
LinearScores solve_target_ridge(const ReleasedBlock& gram, const Preprocessing& rows);

/// Scores of y' as scores of y = c + h y'.
LinearScores in_units_of_targets(LinearScores scores, const TargetColumns& targets);

}  // namespace dpreduce
