// Ridges of least squares side by side, and the simulated noise that they are compared by.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/data/counter_random.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/released_block.hpp"

namespace dpreduce {

// Noise of a release's law, from a public seed: for what is simulated of noise that is known. Never for privacy.

/// Stream of normal numbers, one after the other.
class NormalStream {
 public:
  NormalStream(std::uint64_t seed, std::uint64_t stream) : random_(seed, stream) {}
  double next() {
    if (has_other_) return has_other_ = false, other_;
    const auto [one, other] = random_.normals(next_++);
    other_ = other;
    has_other_ = true;
    return one;
  }

 private:
  CounterRandom random_;
  std::uint64_t next_ = 0;
  double other_ = 0.0;
  bool has_other_ = false;
};

/// The block with factor N added to it, N of its noise's law; `triangle` says that it is an upper triangle of that
/// order, else 0. Its sigma becomes that of both.
inline ReleasedBlock with_noise(const ReleasedBlock& block, double factor, std::size_t triangle, NormalStream normals) {
  std::vector<std::int64_t> values(block.values().begin(), block.values().end());
  std::size_t column = 0;
  std::size_t row = 0;
  for (std::int64_t& value : values) {
    const bool is_beside = triangle > 0 && column > row;
    value += std::llround(factor * block.sigma() * normals.next() * (is_beside ? std::sqrt(0.5) : 1.0));
    if (triangle > 0 && ++column == triangle) column = ++row;
  }
  return {block.name(), std::move(values), block.sigma() * std::hypot(1.0, factor)};
}

// Ridges of least squares side by side, by released sums alone: what noise costs at each, and what is lost in all.
//
// Legend: W = B (G + R)^-1 as in least_squares.hpp, K x d; s_G, s_b the noise of G and B, v = s_G^2 / 2; g_j the
// cleaned eigenvalues, c the coordinates of a row of W along their eigenvectors, n rows.
//
// Noise, to first order, in the score of a row, root mean square over rows and classes:
//
//     noise^2 = ((K s_b^2 + v |W|^2) sum_j g_j / (g_j + R)^2 + v sum_j c_j^2 g_j / (g_j + R)^2) / (n K)
//
// The loss of W on the rows, sum |W x - y|^2 / (n K), is linear in G and B except for sum |y|^2, and a W computed from
// G~ and B~ depends on their noise. So noise is split in two (data fission [leiner2025]): with N distributed as the
// noise and a known gamma,
//
//     G~ + gamma N   and   G~ - N / gamma     have independent noise;
//
// W is made of the first, and its loss by the second is unbiased. Rows that are not there lose more (Mallows' C_p
// [mallows1973]): 2 sum_j g_j / (g_j + R) / n of the loss is added.

struct RidgePoint {
  double ridge;  ///< R, in units of feature^2
  double noise;  ///< in a score
  double loss;   ///< of a score, squared, on rows of the same kind
};

/// Totals that are known of the rows beside their sums.
struct RowTotals {
  double count = 1.0;            ///< n >= 1
  double squared_targets = 1.0;  ///< sum |y|^2: n where every row is of one of the classes
};

/// A point for each of `ridges`. `seed` decides N; `components` as in solve_least_squares. Preconditions (asserted):
/// `release` has gram and class_sums with noise; ridges > 0. Cost: three decompositions, 27 d^3 flops, and 2 K d^2 for
/// each of them.
std::vector<RidgePoint> ridge_path(const Release& release, const Lattice& lattice, std::span<const double> ridges,
                                   const RowTotals& rows, std::uint64_t seed, std::size_t components = 0);

}  // namespace dpreduce
