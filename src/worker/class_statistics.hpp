// The statistics of class means, from a worker's rows.
#pragma once

#include "dpreduce/privacy/declared_releases.hpp"
#include "dpreduce/worker/lattice_stream.hpp"

namespace dpreduce {

/// The blocks of center_release: row_sum = sum_i q_i and row_count, over rows that count (with a label, where there are
/// any). Errors: as for_each_lattice_chunk. Cost: n d additions.
Statistic center_statistic(const ReleaseRequest& request, WorkerRows& rows, const RowTransform& transform,
                           const StreamPlan& plan, const OnChunk& on_chunk);

/// The blocks of class_means_release: class_sums = sum_{i : y_i = c} q_i and, where `request` has it, class_counts.
/// Errors: as for_each_lattice_chunk. Cost: n d additions.
Statistic class_means_statistic(const ReleaseRequest& request, WorkerRows& rows, const RowTransform& transform,
                                const StreamPlan& plan, const OnChunk& on_chunk);

}  // namespace dpreduce
