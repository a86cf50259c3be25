// How many rows each of several candidate classifiers gets right: what one is chosen by.
//
//     u_m = #{i : argmax_c s_mc(q_i) is among the classes of row i}       of equal scores the smaller c wins
//     s_mc(q) = factor_mc <q, w_mc>, with a second head u (residuals.hpp) softmax_c(factor_m <q, w_m>) + u_c(q)
//
// A row adds 0 or 1 to each u_m, whether it is of one class, of several or (then 0) of none: as utilities of a private
// selection they have sensitivity 1, and are monotone. A row with a weight adds that, in units of it: a unit adds 0
// to B to each sum, and so to each sum rounded down, whole numbers.
#pragma once

#include <span>

#include "common/plan/statistic.hpp"
#include "worker/statistic_inputs.hpp"

namespace dpreduce {

/// The block "utilities", one entry a candidate (empty_utilities, one group). Scores are exact integer products, so
/// that a row's verdict does not depend on other rows; what a second head, `prior`, adds to them is one sequence of
/// IEEE operations a row. Cost: n K d multiply-adds a candidate, in one pass, and as many for `prior`; memory: 8 K
/// bytes for some rows of a chunk on each thread, with `prior` 16 K a row of a chunk. Preconditions (asserted):
/// candidates are K x d, d that of inputs.transform. Throws as for_each_lattice_chunk.
Statistic correct_counts(std::span<const LatticeWeights> candidates, const StatisticInputs& inputs,
                         const Prior* prior = nullptr);

}  // namespace dpreduce
