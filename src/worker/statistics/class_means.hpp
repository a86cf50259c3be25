// Release "class_means": class_sums = sum_{i : c in Y_i} q_i (K x d, row-major) and, for Metric::kEuclidean only,
// class_counts = #{i : c in Y_i} (K).
//
// Sensitivity, squared, m and t as in row_sensitivity.hpp: add-remove {k S^2, k}. Replace-one {(4 m + t) S^2, t}, at
// the corners of the polygon of (m, t): {4 k S^2, 0}; {t S^2, t} with t = min(2 k, K); and, where k < K < 2 k, the
// corner between these. With one class a row: {4 S^2, 0} within a class and {2 S^2, 2} across two. A direction needs no
// count, so that the cosine rule spends nothing on one.
// Persons: clipped; with counts weighed, sums and counts alike, so that means are of both.
// Proof: docs/explanation/sensitivities.md, "Class sums and counts".
// Departs from [zhu2024], Theorem 2.1, which is false as printed.
#pragma once

#include <functional>

#include "worker/statistic_entry.hpp"

namespace dpreduce {

/// The declaration.
ReleaseRequest class_means_release(const ReleaseTerms& terms, double share);

/// Its blocks. Cost: n d additions. Throws as for_each_lattice_chunk.
Statistic class_means_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

/// Adds the class sums of all chunks to the block class_sums and, where the statistic has it, the number of rows of
/// each class to class_counts; shows each chunk to `also`. Throws as for_each_lattice_chunk.
void accumulate_classes(Statistic& statistic, const ReleaseRequest& request, const StatisticInputs& inputs,
                        const std::function<void(const LatticeRows&)>& also);

}  // namespace dpreduce
