// Ridge problems with a noised matrix: one of any kind, and that of numbers to predict.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/solvers/gram_spectrum.hpp"
#include "aggregator/solvers/linear_scores.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/ledger/released_block.hpp"

namespace dpreduce {

// One ridge problem with a noised matrix, cleaned of the noise that is known to be in it, without its eigenvectors.
//
// Legend: M = A + N is d x d, N symmetric Gaussian noise of radius w (gram_spectrum.hpp). Most eigenvalues of A are
// assumed to be c: 0 if A has low rank, or the common value if rows spread evenly. Noise spreads them into a bulk from
// c - 2 w to c + 2 w. An eigenvalue c + g of A shows up at l = c + g + w^2 / g, if |g| > w:
//
//     x = f(M) b,   f(l) = 1 / (g(l) + ridge)
//     g(l) = c + (l - c +- sqrt((l - c)^2 - 4 w^2)) / 2 outside of the bulk, and not below 0; c within it
//
// c is the trace without the eigenvalues above the bulk, divided by the number of the others. With c = 0 instead,
// eigenvalues near 2 w were divided by 0 or by w at random, and a larger budget made a worse model.
//
// One right-hand side needs no eigendecomposition (9 d^3 flops): m steps of Lanczos' method from b give an orthonormal
// basis V (m x d) of the Krylov space with V M V^T = T tridiagonal, and x = |b| V^T f(T) e_1, in 2 m d^2 flops. Few
// steps do: the bulk of the spectrum, where the noise is, maps to the one number 1 / ridge, and the eigenvalues outside
// of it are what Lanczos' method finds first. They have no whole spectrum, by which gram_spectrum.hpp cleans better.
// Without noise there is nothing to clean, and Cholesky solves exactly. Source: [benaych2011], section 3.1 (g);
// [golub2013], sections 9.1.2 (f(A) b) and 10.3.1 (orthogonalizing twice).

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

// Ridge regression on numbers from one released Gram matrix of rows and targets.
//
// Legend: u = (sqrt(1 - a) x, sqrt(a) C) a row of d features and a constant, z = (sqrt(1 - b) u, sqrt(b) C y') the row
// that was released, with m targets; M the Gram matrix of z, noise of standard deviation s on its diagonal; k the place
// of the constant.
//
//     start = (0, M_yk / M_kk), within what y' can be         the mean alone
//     solution = start + (M_yu - start M_uu) (M_uu + ridge I)^-1      ridge = w + C^2, w = s sqrt((d + 1) / 2)
//
// The ridge so shrinks toward predicting the mean, and M_uu is cleaned of its noise. Of a gradient, which is made of
// rows themselves, the same inverse is a Newton step. The mean is not taken out of M_uu first: M_xk holds noise in
// every feature, as large as the mean itself where n is small beside d. AdaSSP's idea, a ridge as large as the noise in
// the matrix, with noise that is symmetric and exactly known. Where M_kk, the number of rows times the constant's
// square, is less than 3 s, it is taken to be that. Post-processing of release "gram". Source: [wang2018].

/// Features, targets and ridge of a regression; the default is all, with the ridge above.
struct TargetChoice {
  std::vector<std::size_t> features{};  ///< ascending; empty: all
  std::vector<std::size_t> targets{};   ///< likewise
  std::optional<double> ridge{};        ///< R, in units of feature^2
};

class TargetRidge {
 public:
  /// `rows` are those of the release: with an intercept, and targets in the row. Preconditions (asserted): the block is
  /// their Gram matrix's upper triangle; the choice names what is there. Errors: as GramSpectrum.
  TargetRidge(const ReleasedBlock& gram, const Preprocessing& rows, const TargetChoice& choice = {});

  /// Regression of y' on u, m x (d + 1), with so many times the ridge.
  std::vector<double> solution(double ridges = 1.0) const;

  double ridge() const { return ridge_; }
  /// sqrt((1 - b) / b) / C: weights of y' on u for each of z's target on z's row.
  double unit() const;
  /// M_yk / M_kk of each target, as far as y' can be.
  std::vector<double> starts() const;

  /// rows <- rows (sum u u^T + ridge)^-1, m x (d + 1), likewise: a gradient's Newton step.
  void solve(std::span<double> rows, double ridges = 1.0) const;

  /// Noised number of rows, at least that of the noise.
  double rows() const { return count_ / (constant_ * constant_); }

 private:
  std::size_t dim_;                       // d + 1, of those that were chosen
  std::size_t targets_;                   // m, likewise
  double share_;                          // b
  double clip_norm_;                      // C
  double constant_;                       // of z
  double count_ = 0.0;                    // M_kk, at least 3 s
  double largest_start_ = 0.0;            // of |y'| = 1
  std::vector<double> sums_;              // M_uk
  std::vector<double> right_;             // M_yu, m x (d + 1)
  std::vector<double> exact_;             // M_uu, without noise
  std::optional<GramSpectrum> spectrum_;  // with noise
  double ridge_ = 0.0;
};

/// Scores of y' as scores of y = c + h y'.
LinearScores in_units_of_targets(LinearScores scores, const TargetColumns& targets);

}  // namespace dpreduce
