// One ridge problem with a noised matrix, cleaned of the noise that is known to be in it, without its eigenvectors.
//
// Legend: M = A + N is d x d, N symmetric Gaussian noise of radius w (gram_spectrum.hpp). Most eigenvalues of A are
// taken to be c, which is 0 where A is of low rank, and all there are where rows spread evenly: noise makes a bulk of
// them, from c - 2 w to c + 2 w. An eigenvalue c + g of A shows up at l = c + g + w^2 / g, if |g| > w:
//
//     x = f(M) b,   f(l) = 1 / (g(l) + ridge)
//     g(l) = c + (l - c +- sqrt((l - c)^2 - 4 w^2)) / 2 outside of the bulk, and not below 0; c within it
//
// c is what the eigenvalues above the bulk leave of the trace, for each of the others. With c = 0 in its place, even
// rows whose eigenvalues lie near 2 w were divided by 0 and by w at random, and more budget made a worse model.
//
// One right-hand side wants no eigendecomposition (9 d^3 flops): m steps of Lanczos' method from b give an orthonormal
// basis V (m x d) of the Krylov space with V M V^T = T tridiagonal, and x = |b| V^T f(T) e_1, in 2 m d^2 flops. Few
// steps do: the bulk of the spectrum, where the noise is, maps to the one number 1 / ridge, and the eigenvalues outside
// of it are what Lanczos' method finds first. They have no whole spectrum, by which gram_spectrum.hpp cleans better.
// Without noise there is nothing to clean, and Cholesky solves exactly.
// Source: [benaych2011], section 3.1 (g); [golub2013], sections 9.1.2 (f(A) b) and
// 10.3.1 (orthogonalizing twice).
#pragma once

#include <cstddef>
#include <span>

namespace dpreduce {

/// rows <- rows (G + ridge I)^-1, G a Gram matrix without noise.
/// Shapes: rows K x d, row-major; gram d x d, row-major, of which the upper triangle is read; overwritten by the
/// factor. Cost: d^3 / 3 + 2 K d^2 flops (eigenvectors: 9 d^3), on one thread, so that the bits do not depend on the
/// number of threads. Preconditions (asserted): gram is square, and rows are as long. Throws std::runtime_error where G
/// + ridge I is not positive definite. Source: LAPACK's dposv.
void solve_exact_ridge(std::span<double> gram, double ridge, std::span<double> rows);

/// c of a d x d matrix of this trace, of which these eigenvalues are known, the largest among them; at least 0.
/// Precondition (asserted): from 0 to d of them, d > 0.
double middle_of_bulk(std::span<const double> ascending, double trace, std::size_t dim, double noise_radius);

/// g(l) for noise of radius w: the eigenvalue that shows up at l. Preconditions: noise_radius >= 0; middle >= 0.
double shrunk_eigenvalue(double eigenvalue, double noise_radius, double middle);

/// x <- f(M) x.
/// Shapes: x has d entries; matrix d x d, row-major, of which the upper triangle is read; overwritten when
/// noise_radius = 0. All on one thread, so that the bits do not depend on the number of threads. Stops when half as
/// many steps more change x by less than a relative 1e-4, or after min(d, 128) steps: where many eigenvalues lie near
/// the jump of g at c + 2 w, x is then off by a few per cent, between what two sides of the jump would give. Memory: 8
/// d per step. Preconditions (asserted): ridge > 0; noise_radius >= 0; the shapes. Throws std::runtime_error where
/// LAPACK fails.
void solve_cleaned(std::span<double> matrix, double noise_radius, double ridge, std::span<double> x);

}  // namespace dpreduce
