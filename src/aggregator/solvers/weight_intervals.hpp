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
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/released_block.hpp"

namespace dpreduce {

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
