// The summed gradient and Hessians of a linear classifier's loss over a worker's rows.
#pragma once

#include "worker/statistic_inputs.hpp"

namespace dpreduce {

/// The blocks of newton_release at inputs.point: gradient, as gradient_statistic has it, and hessians: for each class c
/// in turn the upper triangle of sum_i v_ic v_ic^T (hessian_rows.hpp), in units of Lattice{C, d}.scale()^2.
///
/// One pass over the rows. Cost: n K d^2 / 2 multiply-adds; memory: 8 d^2 bytes, and 2 d + 18 K bytes a row of a
/// chunk (with a prior 16 K more), beside the statistic's 4 K d^2. Preconditions and errors: as gradient_statistic;
/// loss is not kSquare (asserted).
Statistic newton_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

}  // namespace dpreduce
