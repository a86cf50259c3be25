// Sums of rows about a public centre of their class, clipped to a public ball: what a mean is refined with.
//
//     centred_sums_c = sum_{i : y_i = c} round_to_zero(f_i v_i),   v_i = q_i - z_c,   f_i = S / max(|v_i|, T_c)
//     class_counts_c = #{i : y_i = c}
//
// Legend: q a lattice row, z_c the centre of class c on the same lattice, T_c its ball's radius in lattice units, S =
// 32767. Rows of the ball are scaled by S / T_c, so that every ball has the lattice's norm, and with it one noise: in
// feature units noise shrinks with the ball. Rounding to zero never makes a row longer, and |f_i v_i| <= S is checked
// in integers all the same; a row that fails counts without a sum. Source: Biswas et al. 2020, CoinPress, the clipped
// step of Algorithm 3.
#pragma once

#include <vector>

#include "worker/statistic_inputs.hpp"

namespace dpreduce {

/// The blocks of `request` (centred_sums_release) at inputs.balls. Cost: 4 n d multiply-adds. Preconditions (asserted):
/// one class a row; inputs.balls has K x d centres and K radii. Errors: as for_each_lattice_chunk.
Statistic centred_sums_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

}  // namespace dpreduce
