// Release "gradient", `rounds` times: gradient = sum_i rho_i q_i^T (K x d), at a public point, of residuals rho_i on
// the lattice (residuals.hpp), |rho_i| <= S. In units of the loss: gradient / (Lattice{1, K}.scale() * Lattice{C,
// d}.scale()).
//
// Sensitivity, squared: |rho q^T|_F^2 = |rho|^2 |q|^2 <= S^4; replace-one 4 S^4. Whatever the loss, the number of
// classes and the classes of a row: residuals are clipped as vectors.
// Persons: clipped.
#pragma once

#include "worker/statistic_entry.hpp"

namespace dpreduce {

/// The declaration.
ReleaseRequest gradient_release(const ReleaseTerms& terms, double share);

/// The cost of every release whose first block is a gradient: weights go to each rank.
StatisticCost gradient_cost(const ReleaseRequest& request);

}  // namespace dpreduce
