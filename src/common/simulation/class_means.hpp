// Class means of synthetic data, K x d and row-major, a function of the seed alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dpreduce {

/// Returns M^T for M = sqrt(K/(K-1)) P (I_K - 1 1^T / K), P^T P = I_K: unit rows with inner products -1/(K-1).
///
/// As P (I - 1 1^T/K) = (P H^T) H for Helmert's (K-1) x K matrix H (orthonormal rows, all orthogonal to 1), it is made
/// as Q H with Q = P H^T a uniform d x (K-1) partial isometry: the same law, and d = K - 1 features are enough.
/// Cost O(d K^2). Preconditions (asserted): classes >= 2, dim >= classes - 1.
std::vector<double> simplex_frame(std::size_t classes, std::size_t dim, std::uint64_t seed);

/// Returns K independent uniform points of the sphere of this radius in R^d.
std::vector<double> sphere_points(std::size_t classes, std::size_t dim, double radius, std::uint64_t seed);

/// Returns row k = beta sign(M_j - M_k), with j the class that minimizes the margin left,
/// ||M_k - M_j||^2 / 2 - beta ||M_k - M_j||_1, the smallest j where several do. Cost O(d K^2).
std::vector<double> worst_perturbations(const std::vector<double>& means, std::size_t classes, std::size_t dim,
                                        double beta);

}  // namespace dpreduce
