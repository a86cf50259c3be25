// The statistics of class means, from a worker's rows.
#pragma once

#include "worker/statistic_inputs.hpp"

namespace dpreduce {

/// The blocks of center_release: row_sum = sum_i q_i and row_count, over rows that count. Errors: as
/// for_each_lattice_chunk. Cost: n d additions.
Statistic center_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

/// The blocks of class_means_release: class_sums = sum_{i : c in Y_i} q_i and, where `request` has it, class_counts.
/// Errors: as for_each_lattice_chunk. Cost: n d additions.
Statistic class_means_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

/// The blocks of fisher_release: class_sums, second_moments = sum_i q_i * q_i (entry by entry, over rows
/// that have a class) and class_counts.
/// Errors: as for_each_lattice_chunk. Cost: 2 n d additions.
Statistic fisher_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

/// The block of class_sizes_release. Cost: the pass. Errors: as for_each_lattice_chunk.
Statistic class_sizes_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

}  // namespace dpreduce
