// Second moments of a worker's rows, by exact integer products.
#pragma once

#include "dpreduce/worker/statistic_inputs.hpp"

namespace dpreduce {

/// The block of gram_release: the upper triangle of sum_i q_i q_i^T. Errors: as for_each_lattice_chunk.
/// Cost: n d (d + 1) / 2 multiply-adds; memory: 8 d^2 bytes beside the statistic.
Statistic gram_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

/// The blocks of least_squares_release: the same, and class_sums = sum_{i : y_i = c} q_i. One pass over the rows.
Statistic least_squares_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

}  // namespace dpreduce
