// How many rows each of several candidate classifiers gets right: what one is chosen by.
//
//     u_m = #{i : argmax_c factor_mc <q_i, w_mc> is among the classes of row i}       of equal scores the smaller c
//     wins
//
// A row adds 0 or 1 to each u_m: as utilities of a private selection they have sensitivity 1, and are monotone.
#pragma once

#include <span>

#include "dpreduce/privacy/statistic.hpp"
#include "dpreduce/worker/statistic_inputs.hpp"

namespace dpreduce {

/// The block "utilities", one entry a candidate (empty_utilities, one group). Scores are exact integer products, so
/// that a row's verdict does not depend on other rows. Cost: n K d multiply-adds a candidate, in one pass; memory: 8 K
/// bytes a row of a chunk. Preconditions (asserted): candidates are K x d, d that of inputs.transform. Errors: as
/// for_each_lattice_chunk.
Statistic correct_counts(std::span<const LatticeWeights> candidates, const StatisticInputs& inputs);

}  // namespace dpreduce
