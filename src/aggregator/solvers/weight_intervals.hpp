// What the known noise of released sums leaves unknown of ridge regressions, and what rows that are not there do.
//
// Legend: H = G + R I and theta = H^-1 b without noise, for one class; released are H~ = H + E, E symmetric with
// variance 2 v on the diagonal and v beside it, v = s_G^2 / 2, and b~ = b + e, e with s_b^2; theta~ = H~^-1 b~; z a
// public row or a unit vector, u = H~^-1 z. To second order, as E[E A E] = v (A + tr(A) I) and Cov(E theta) = v
// (|theta|^2 I + theta theta^T):
//
//     E theta~ - theta = v H^-1 (H^-1 + tr(H^-1) I) theta                     subtracted
//     Var(z^T theta~) = (s_b^2 + v |theta|^2) |u|^2 + v (u^T theta)^2
//
// The latter is about the estimate without noise, on these rows. About the population, whose weights with the same R
// are H^-1 G beta of y = beta^T x + noise of variance s^2, s^2 u^T G u is added: s^2 is the residual sum of squares
// y^T y - 2 theta^T b + theta^T G theta, less what noise adds to it, over n - 2 tr(S) + tr(S^2), S = H^-1 G.
//
// The expansion is in kappa = s_G sqrt(d / 2) / lambda_min(H~): below .15 its formulas hold. Up to .35 noise is
// simulated, which is known exactly: theta* = (H~ + E*)^-1 (H~ theta_0 + e*), theta_0 such that the median of theta* is
// theta~; the center is then theta~ less the median of theta* - theta_0, the deviation half of their central 95 %
// over 1.96. Above, single weights are noise, and nothing is said of them. docs/experiments/intervals.md measures how
// often intervals hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/spelling.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/plan/released_block.hpp"

namespace dpreduce {

/// How intervals were made.
enum class IntervalKind { kFormula, kBootstrap, kNone };
template <>
inline constexpr std::array spellings<IntervalKind>{std::pair{std::string_view{"formula"}, IntervalKind::kFormula},
                                                    std::pair{std::string_view{"bootstrap"}, IntervalKind::kBootstrap},
                                                    std::pair{std::string_view{"none"}, IntervalKind::kNone}};

inline constexpr double kMostKappaOfFormula = 0.15;
inline constexpr double kMostKappa = 0.35;

struct IntervalTerms {
  double ridge = 0.0;                     ///< R >= 0, in units of feature^2
  std::vector<double> rows{};             ///< z, m x d
  std::vector<double> squared_targets{};  ///< y^T y of each class; empty: nothing is said of the population
  double count = 0.0;                     ///< n, with squared targets
  std::uint64_t seed = 0;                 ///< of simulated noise
};

/// Of every z and class, m x K: the estimate of z^T theta, and its standard deviations.
struct LinearIntervals {
  IntervalKind kind = IntervalKind::kNone;
  double kappa = 0.0;
  std::vector<double> estimates{};
  std::vector<double> deviations{};             ///< about the estimate without noise on these rows
  std::vector<double> population_deviations{};  ///< empty where there are no squared targets
};

/// Nothing but kind and kappa where kappa is above kMostKappa. Preconditions (asserted): `release` has gram and
/// class_sums with noise; shapes. Cost: d^3 + 2 (m + K) d^2 flops; of simulated noise 800 times as much.
LinearIntervals linear_intervals(const Release& release, const Lattice& lattice, const IntervalTerms& terms);

}  // namespace dpreduce
