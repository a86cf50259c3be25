// Figures of ridge regressions by released sums alone: ridges side by side, the simulated noise that they are
// compared by, and intervals of weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/described_types.hpp"
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
    if (count_++ % 2 == 1) return other_;
    const auto [one, other] = random_.normals(count_ / 2);
    other_ = other;
    return one;
  }

 private:
  CounterRandom random_;
  std::uint64_t count_ = 0;
  double other_ = 0.0;  // the second of the last pair
};

/// The block with factor N added to it, N of its noise's law; `triangle` says that it is an upper triangle of that
/// order, else 0. Its sigma becomes that of both.
ReleasedBlock with_noise(const ReleasedBlock& block, double factor, std::size_t triangle, NormalStream normals);

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

// Uncertainty of ridge regressions by the known noise of released sums, and by sampling of rows.
//
// Legend: H = G + R I and theta = H^-1 b without noise, for one class; released are H~ = H + E, E symmetric with
// variance 2 v on the diagonal and v beside it, v = s_G^2 / 2, and b~ = b + e, e with s_b^2; theta~ = H~^-1 b~; z a
// public row or a unit vector, u = H^-1 z. To second order, as E[E A E] = v (A + tr(A) I) and Cov(E theta) = v
// (|theta|^2 I + theta theta^T):
//
//     E theta~ - theta = v H^-1 (H^-1 + tr(H^-1) I) theta                     subtracted
//     Var(z^T theta~) = (s_b^2 + v |theta|^2) |u|^2 + v (u^T theta)^2
//
// The same bias is subtracted from H~^-1 z, and from |theta~|^2 the trace of theta~'s covariance; else the variance
// would be too large by a share of about 3 kappa^2. This variance is about the estimate without noise, on these rows.
// About the population, whose weights with the same R are H^-1 G beta of y = beta^T x + noise of variance s^2, s^2 u^T
// G u is added: s^2 is the residual sum of squares y^T y - 2 theta^T b + theta^T G theta, less what noise adds to it,
// over n - 2 tr(S) + tr(S^2), S = H^-1 G.
//
// The expansion is in kappa = s_G sqrt(d / 2) / lambda_min(H~). Up to most_kappa_of(d) intervals hold as often as they
// say; above, single weights are noise, and have no intervals. docs/experiments/intervals.md measures how often
// intervals hold.

/// Method by which intervals were made.
enum class IntervalKind { kFormula, kNone };
template <>
inline constexpr auto spellings<IntervalKind> = spelled<IntervalKind>("formula", "none");

/// Largest kappa for which intervals of regressions with d columns are given. With one or two columns, what the Gram
/// matrix has of the noise decides too much.
constexpr double most_kappa_of(std::size_t dim) {
  return dim < 3 ? 0.1 : 0.35;
}

struct IntervalTerms {
  double ridge = 0.0;                     ///< R >= 0, in units of feature^2
  std::vector<double> rows{};             ///< z, m x d
  std::vector<double> squared_targets{};  ///< y^T y of each class; empty: nothing is said of the population
  double count = 0.0;                     ///< n, with squared targets
  std::optional<double> most_kappa{};     ///< finite; empty: most_kappa_of(d)
};

/// Estimates of z^T theta and their standard deviations, for every z and class, m x K.
struct LinearIntervals {
  IntervalKind kind = IntervalKind::kNone;
  double kappa = 0.0;
  std::size_t classes = 0;  ///< K; 0 without intervals
  std::vector<double> estimates{};
  std::vector<double> deviations{};             ///< about the estimate without noise on these rows
  std::vector<double> population_deviations{};  ///< empty where there are no squared targets
};

/// Returns nothing but kind and kappa if kappa is above most_kappa. Preconditions (asserted): `release` has gram and
/// class_sums with noise; shapes. Cost: d^3 + 2 (m + K) d^2 flops.
LinearIntervals linear_intervals(const Release& release, const Lattice& lattice, const IntervalTerms& terms);

}  // namespace dpreduce
