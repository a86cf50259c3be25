// Release "gram": the upper triangle of G = sum_i q_i q_i^T, with symmetric noise.
//
// Sensitivity, squared, in the Frobenius norm: add-remove S^4; replace-one |q q^T - q' q'^T|_F^2 <= 2 S^4.
// Persons: clipped.
// Proof: docs/explanation/sensitivities.md, "Gram matrices".
#pragma once

#include <functional>

#include "worker/statistic_entry.hpp"

namespace dpreduce {

/// The declaration.
ReleaseRequest gram_release(const ReleaseTerms& terms, double share);

/// A block "gram" for the triangle of one d x d matrix.
BlockRequest gram_block(std::size_t dim, double loss_weight);

/// Its block. Cost: n d (d + 1) / 2 multiply-adds; memory: 8 d^2 bytes beside the statistic. Throws as
/// for_each_lattice_chunk.
Statistic gram_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

/// Adds the Gram matrix of all chunks to the block "gram" of the request's statistic, and shows each chunk to `also`.
/// Cost, memory and errors: as gram_statistic.
void accumulate_gram(Statistic& statistic, const ReleaseRequest& request, const StatisticInputs& inputs,
                     const std::function<void(const LatticeRows&)>& also);

}  // namespace dpreduce
