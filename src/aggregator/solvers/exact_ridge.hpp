// Ridge problems with a Gram matrix in which there is no noise: nothing to clean, and Cholesky's factor solves them.
#pragma once

#include <span>

namespace dpreduce {

/// rows <- rows (G + ridge I)^-1.
/// Shapes: rows K x d, row-major; gram d x d, row-major, of which the upper triangle is read; overwritten by the
/// factor. Cost: d^3 / 3 + 2 K d^2 flops (eigenvectors: 9 d^3), on one thread, so that the bits do not depend on the
/// number of threads. Preconditions (asserted): gram is square, and rows are as long. Throws std::runtime_error where G
/// + ridge I is not positive definite. Source: LAPACK's dposv.
void solve_exact_ridge(std::span<double> gram, double ridge, std::span<double> rows);

}  // namespace dpreduce
