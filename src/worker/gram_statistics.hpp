// Second moments of a worker's rows, by exact integer products.
#pragma once

#include "worker/statistic_inputs.hpp"

namespace dpreduce {

/// The block of gram_release: the upper triangle of sum_i q_i q_i^T. Errors: as for_each_lattice_chunk.
/// Cost: n d (d + 1) / 2 multiply-adds; memory: 8 d^2 bytes beside the statistic.
Statistic gram_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

/// The blocks of least_squares_release: the same, and class_sums = sum_{i : c in Y_i} q_i. One pass over the rows.
Statistic least_squares_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

/// triangle <- the upper triangle (triangle.hpp) of a d x d matrix, row-major. Shapes: d^2 and d (d + 1) / 2 elements.
void copy_upper_triangle(std::span<const std::int64_t> square, std::size_t dim, std::span<std::int64_t> triangle);

}  // namespace dpreduce
