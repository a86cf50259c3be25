// A released Gram matrix by its eigenvalues, cleaned of the noise that is known to be in it.
//
// Legend: G + N is the released d x d matrix in feature units, with eigenvalues l_i and eigenvectors v_i; N is
// symmetric Gaussian with standard deviation s on the diagonal and s / sqrt(2) beside it: a Wigner matrix with spectrum
// in [-2 w, 2 w], w = s sqrt(d / 2).
//
//     g = max(isotonic(e), 0),   e_i = l_i - s^2 sum_{j != i} 1 / (l_i - l_j)
//
// E v_i^T G v_i = E e_i, for every G and d: of all matrices with eigenvectors v_i, the closest to G has v_i^T G v_i for
// eigenvalues. Those grow with i, but for chance, and e scatters where two l are close, by opposite amounts that the
// least-squares fit which grows with i (isotonic) takes out again. sum_i e_i = trace(G + N). s is public, so this is
// post-processing. Without noise g_i = max(l_i, 0).
// Source: [stein1975], here for additive noise: e follows from integration by
// parts, E v^T N v = sum_{a <= b} Var(N_ab) E d(v^T N v)/dN_ab, with dv_i / dN_ij = v_j / (l_i - l_j) in the basis of
// the v. For large d it is the estimator of [bun2016a].
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/released_block.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// A released upper triangle (triangle.hpp) of rows on `lattice` as a d x d matrix in units of feature^2, row-major; 0
/// below the diagonal. Preconditions (asserted): d (d + 1) / 2 elements.
std::vector<double> gram_in_units(const ReleasedBlock& gram, const Lattice& lattice);

/// A d x d matrix with this upper triangle, row-major, on both sides of its diagonal.
std::vector<double> symmetric(std::vector<double> upper, std::size_t dim);

/// Eigenvalues l_i of G + N as they were released, ascending, in units of feature^2. Cost: 4/3 d^3 flops, on one
/// thread; none where a GramSpectrum of `gram` or of a copy was made. Preconditions, errors: as GramSpectrum.
std::vector<double> released_eigenvalues(const ReleasedBlock& gram, const Lattice& lattice);

/// w of a released Gram matrix, in units of feature^2; 0 without noise.
double noise_radius_of(const ReleasedBlock& gram, const Lattice& lattice);

/// V = Z Q^T: Q is orthogonal, LAPACK's product of d - 1 reflections; Z's rows are the eigenvectors of the tridiagonal
/// matrix Q^T (G + N) Q. Few rows are multiplied by both for less than V costs, which is 2 d^3 flops more.
class GramSpectrum {
 public:
  /// Eigendecomposition of the symmetric matrix given by its released upper triangle; leaves the l_i with that. Cost:
  /// up to 4 d^3 flops, on one thread; 3 d^2 doubles, of which 2 d^2 stay. Throws std::runtime_error if LAPACK does not
  /// converge.
  GramSpectrum(const ReleasedBlock& gram, const Lattice& lattice);
  /// Eigendecomposition of a matrix in units of feature^2, d x d, of which the upper triangle is read, with noise s on
  /// its diagonal.
  GramSpectrum(std::vector<double> matrix, double sigma);
  /// Eigendecomposition of the coordinator's released `gram`, which is null on other ranks. The coordinator computes
  /// it, since BLAS rounds by the processor. All owners (Communicator::owners) get its bits; ranks that are no owners
  /// get nullopt. Collective.
  static std::optional<GramSpectrum> of_owners(Communicator& ranks, const ReleasedBlock* gram, const Lattice& lattice);

  std::size_t dim() const { return released_.size(); }
  /// w, in units of feature^2.
  double noise_radius() const { return trace_and_radius_[1]; }
  /// g_i, in the order of l_i, ascending.
  std::span<const double> eigenvalues() const { return eigenvalues_; }

  /// isotonic(e): of a matrix that may have negative eigenvalues. Cost: d^2 divisions.
  std::vector<double> signed_eigenvalues() const;

  /// vectors <- orthonormal eigenvectors from number `first` on, ascending, one for each of `factors`, times that.
  /// Shape: count x d, row-major (asserted). Bits may depend on which are made together. Cost: 2 d^2 flops each.
  void make_eigenvectors(std::size_t first, std::span<const double> factors, std::span<double> vectors) const;

  /// The orthonormal eigenvectors of the `count` largest eigenvalues, count x d, row-major, largest first: of released
  /// rows the principal components (Analyze Gauss [dwork2014]). Their signs say nothing.
  /// Precondition (asserted): count <= d.
  std::vector<double> top_eigenvectors(std::size_t count) const;

  /// trace(G + N), in units of feature^2: of rows of norm C, C^2 times their noised number.
  double trace() const { return trace_and_radius_[0]; }

  /// rows V^T: each row's coordinates along the eigenvectors, which are V's rows. Cost: 4 K d^2 flops.
  std::vector<double> coordinates(std::span<const double> rows) const;

  /// From such coordinates to rows again, each times factors[j] along eigenvector j. Shapes: K x d, row-major; factors
  /// d, as eigenvalues(). Cost: 4 K d^2 flops.
  std::vector<double> rows_of(std::vector<double> coordinates, std::span<const double> factors) const;

  /// 1 / (g_j + ridge); with `components` so many largest eigenvalues have that, and others 0. Preconditions
  /// (asserted): ridge > 0; components <= d.
  std::vector<double> inverse_factors(double ridge, std::size_t components = 0) const;

  /// rows <- rows (G + ridge I)^-1, K x d. Cost: 8 K d^2 flops. Precondition (asserted): ridge > 0.
  void solve(std::span<double> rows, double ridge) const;

  /// (g_j + ridge)^(-1/2): rows x of second moment G + ridge I become rows M x of second moment I, where M's rows are
  /// the eigenvectors times these. Precondition (asserted): ridge > 0.
  std::vector<double> whitening_factors(double ridge) const;

 private:
  GramSpectrum() = default;
  void find_eigenvalues();
  void reflect(char transposed, std::span<double> rows) const;

  std::array<double, 2> trace_and_radius_{};
  std::vector<double> released_;     // l
  std::vector<double> tridiagonal_;  // Z, d x d
  std::vector<double> eigenvalues_;  // g
  std::vector<double> reflections_;  // d x d
  std::vector<double> factors_;      // of them, d - 1
};

}  // namespace dpreduce
