// The summed gradient of a linear classifier's loss over a worker's rows.
#pragma once

#include <cstdint>
#include <span>

#include "worker/statistic_inputs.hpp"

namespace dpreduce {

class ChunkResiduals;

/// gradient <- gradient + sum_i rho_i q_i^T (K x d) over the rows of one chunk, whose residuals `residuals` takes.
/// Two exact integer products: scores Q W^T and the sum R^T Q. Cost: 2 n K d multiply-adds. Preconditions (asserted):
/// K x d entries, for rows of d.
void accumulate_gradient(const LatticeRows& chunk, ChunkResiduals& residuals, std::span<std::int64_t> gradient,
                         unsigned threads);

/// The block of gradient_release at inputs.point: gradient = sum_i rho_i q_i^T (K x d), rho_i the residual of row i on
/// the lattice (residuals.hpp). In units of the loss: gradient / (Lattice{1, K}.scale() * Lattice{C, d}.scale()).
///
/// Cost: accumulate_gradient of each chunk; memory: 10 K bytes a row of a chunk. Preconditions (asserted): inputs.point
/// is there, its weights are K x d. Errors: as for_each_lattice_chunk.
Statistic gradient_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

/// The blocks of adaptive_gradient_release at inputs.point: the gradient of residuals clipped to its residual_norm Z,
/// in units of 1 / Z, and sides = (rows with |r| <= Z, rows with more), of rows that have a class. Otherwise as above.
Statistic adaptive_gradient_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

}  // namespace dpreduce
