// Eigenvalues and eigenvectors of a symmetric tridiagonal matrix, by ranks that share the work, with the same bits.
//
//     T = diag(T_1, T_2) + rho u u^T,   u = e_m + e_(m+1)   (or e_m - e_(m+1): rho > 0)
//
// Legend: T is n x n, torn behind row m = n / 2; the rows of B = diag(B_1, B_2) are the eigenvectors of the halves, D
// their eigenvalues, z = B u. T's eigenvectors are the rows of S G B: G turns those of the halves whose eigenvalues are
// equal, so that one of them needs no S; S has those of D + rho z z^T, row j a multiple of z'_i / (D_i - l_j). z' is
// the vector that has exactly the roots l_j that were found, which makes rows orthogonal.
//
// Halves are two ranks' work. Whoever has both finds the l_j, and makes any rows of S G B: divide and conquer, whose
// largest product is left to the end, where rows may be shared or not be needed.
// Source: [cuppen1981]; [gu1995] for z'. Roots are LAPACK's (dlaed4), when G turns is its rule (dlaed2).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/ranks/communicator.hpp"

namespace dpreduce {

class TridiagonalSpectrum {
 public:
  /// Of T's diagonal, n >= 1 entries, and those beside it. Collective among owners (Communicator::owners), with the
  /// same T: all of them have the same bits then, as one alone. Cost: 2/3 n^3 flops on two ranks, at most. Throws
  /// std::runtime_error where LAPACK does not converge.
  TridiagonalSpectrum(Communicator& ranks, std::vector<double> diagonal, std::vector<double> beside_diagonal);

  std::size_t size() const { return eigenvalues_.size(); }
  /// Ascending.
  std::span<const double> eigenvalues() const { return eigenvalues_; }

  /// vectors <- orthonormal eigenvectors from number `first` on, one for each of `factors`, times that. Shape: count x
  /// n, row-major (asserted). Bits may depend on which are made together. Cost: n^2 flops each.
  void make_eigenvectors(std::size_t first, std::span<const double> factors, std::span<double> vectors) const;

  /// From rows' coordinates along the eigenvectors to rows. Shape: count x n, row-major. Cost: 3 n^2 flops a row.
  std::vector<double> rows_of(std::span<const double> coordinates) const;
  /// The other way.
  std::vector<double> coordinates(std::span<const double> rows) const;

 private:
  // Two rows of B, in place of which G has c first + s second and c second - s first.
  struct Turn {
    std::size_t first, second;
    double c, s;
  };
  // An eigenvector of T: row `index` of S, or of G B.
  struct Source {
    bool is_root;
    std::size_t index;
  };

  void merge(std::vector<double> poles, double rho, double sign);
  void turn_equal(std::vector<double>& poles, std::vector<double>& z, double rho);
  std::vector<double> find_roots(std::span<const double> poles, std::span<const double> z, double rho);
  void multiply_by_halves(std::span<const double> rows, bool is_transposed, std::span<double> products) const;
  void finish_rows(std::span<double> rows, std::span<double> finished) const;

  std::vector<double> eigenvalues_;
  std::size_t head_;            // m
  std::vector<double> halves_;  // B_1, B_2
  std::vector<Turn> turns_;
  std::vector<std::size_t> kept_;  // rows of G B that S combines, by their D
  std::vector<double> secular_;    // S, of these
  std::vector<Source> sources_;
};

}  // namespace dpreduce
