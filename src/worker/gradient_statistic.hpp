// The summed gradient of a linear classifier's loss over a worker's rows.
#pragma once

#include "dpreduce/worker/statistic_inputs.hpp"

namespace dpreduce {

/// The block of gradient_release at inputs.point: gradient = sum_i rho_i q_i^T (K x d), rho_i the residual of row i on
/// the lattice (residuals.hpp). In units of the loss: gradient / (Lattice{1, K}.scale() * Lattice{C, d}.scale()).
///
/// Two exact integer products a chunk: scores Q W^T and the sum R^T Q. Cost: 2 n K d multiply-adds; memory: 10 K bytes
/// a row of a chunk. Preconditions (asserted): inputs.point is there, its weights are K x d. Errors: as
/// for_each_lattice_chunk.
Statistic gradient_statistic(const ReleaseRequest& request, const StatisticInputs& inputs);

}  // namespace dpreduce
