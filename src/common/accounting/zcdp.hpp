// Zero-concentrated DP (zCDP): Renyi divergence of every order alpha > 1 at most alpha * rho.
//
//   rho              the zCDP parameter; releases compose by addition; Gaussian noise has rho = mu^2 / 2, exactly
//   epsilon, delta   the guarantee derived from it; L = ln(1/delta)
//
// These conversions hold for any rho-zCDP mechanism, so for Gaussian noise they are looser than gaussian_dp.hpp: at
// (1, 1e-6) the tight one asks for 7% more noise, the simple one for 27% more. All results are rounded to the safe
// side. Sources: [bun2016], Proposition 1.3 (simple); [canonne2020], Corollary 13 (tight).
#pragma once

namespace dpreduce {

/// Range of rho: about that of mu in gaussian_dp.hpp.
inline constexpr double kSmallestRho = 1e-40;
inline constexpr double kLargestRho = 5e7;

/// epsilon = rho + 2 sqrt(rho L), rounded up. Preconditions: kSmallestRho <= rho <= kLargestRho; 0 < delta < 1. Throws
/// UsageError naming the argument and its value.
double epsilon_from_zcdp_simple(double rho, double delta);

/// epsilon = min over real alpha > 1 of alpha rho + ln(1 - 1/alpha) + (L - ln alpha) / (alpha - 1), rounded up; at
/// least 0. Precondition: as epsilon_from_zcdp_simple. Throws UsageError naming the argument and its value.
double epsilon_from_zcdp_tight(double rho, double delta);

/// The largest rho with epsilon_from_zcdp_tight(rho, delta) <= epsilon, rounded down. Preconditions: 0 < epsilon <=
/// kLargestEpsilon; 0 < delta < 1. Throws UsageError naming the argument and its value.
double zcdp_from_epsilon_tight(double epsilon, double delta);

/// mu = sqrt(2 rho), rounded down: Gaussian noise of this mu is rho-zCDP. Precondition: kSmallestRho <= rho <=
/// kLargestRho. Throws UsageError naming the value.
double mu_from_zcdp(double rho);

/// rho = mu^2 / 2, rounded up: what Gaussian noise of this mu costs. Precondition: kSmallestMu <= mu <= kLargestMu.
/// Throws UsageError naming the value.
double zcdp_from_mu(double mu);

}  // namespace dpreduce
