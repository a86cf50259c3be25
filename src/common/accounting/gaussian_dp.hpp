// Gaussian differential privacy (GDP): exact guarantees of Gaussian noise.
//
//   epsilon, delta   the guarantee P[A] <= e^epsilon P'[A] + delta; epsilon in nats
//   sensitivity D    L2 distance that one neighboring change can cause
//   sigma            standard deviation of the noise on every coordinate
//   mu = D / sigma   the GDP parameter; releases compose as mu^2 = sum_r mu_r^2, also when chosen adaptively
//   rho = mu^2 / 2   the same noise as zero-concentrated DP (below)
//
//   delta(epsilon, mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)
//
// For every mu and every pair (epsilon, delta), mu-GDP is (epsilon, delta)-DP if and only if delta >= delta(epsilon,
// mu), so nothing smaller exists for Gaussian noise. Adjacency enters only through D.
//
// All functions compute with 50 digits and round once, to the safe side: what they return is always true, and at most
// about an ulp away from the best true double.
// Sources: [dong2022], Corollary 1; [balle2018], Theorem 8.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dpreduce {

/// Ranges inside which the results carry at least 20 correct digits before they are rounded.
inline constexpr double kSmallestMu = 1e-20;
inline constexpr double kLargestMu = 1e4;
inline constexpr double kLargestEpsilon = 1e6;

/// The smallest epsilon >= 0 with delta(epsilon, mu) <= delta, rounded up; 0 where delta(0, mu) <= delta.
///
/// Preconditions: kSmallestMu <= mu <= kLargestMu; 0 < delta < 1. Throws UsageError naming the argument and its value.
double gdp_epsilon(double mu, double delta);

/// The largest mu with delta(epsilon, mu) <= delta, rounded down.
///
/// Preconditions: 0 <= epsilon <= kLargestEpsilon; 0 < delta < 1; the result is at least kSmallestMu. Throws UsageError
/// naming the argument and its value.
double gdp_mu(double epsilon, double delta);

/// sigma = sqrt(steps) sensitivity / mu, rounded up: the noise of each of so many releases that have mu together.
///
/// The unit is the sensitivity's. For a joint release of blocks, sensitivity is the joint one: a class sum of rows with
/// norm at most 1 together with its count has sqrt(2), not 1.
///
/// Preconditions: kSmallestMu <= mu <= kLargestMu; sensitivity > 0 and finite; steps >= 1; sigma is a finite double.
/// Throws UsageError naming the argument and its value.
double sigma_for_mu(double mu, double sensitivity, std::uint64_t steps = 1);

/// sqrt(sum_r mu_r^2), rounded up: the GDP parameter of all the releases together; 0 for none.
///
/// Precondition: every mu is >= 0 and finite. Throws UsageError naming the value.
double gdp_compose(std::span<const double> mus);

// Meaning of a guarantee for an adversary who has to distinguish two neighboring data sets by what was released: the
// test "was this record in?", for an attacker who knows everything else and has unlimited means.
//
//   alpha   false-positive rate: how often an absent record is called present
//   power   true-positive rate: how often a present record is called so
//
// Sources: [dong2022], equations (2) and (6); [kairouz2015] (epsilon, delta).

/// The best power at alpha against a mu-GDP release, Phi(Phi^-1(alpha) + mu), raised by 1e-12 relative for the rounding
/// of double; at most 1. Gaussian noise of sigma = D / mu permits exactly that. Preconditions: kSmallestMu <= mu <=
/// kLargestMu; 0 < alpha < 1. Throws UsageError naming the argument.
double gdp_attack_power(double mu, double alpha);

/// The best power at alpha against any (epsilon, delta)-DP release:
///   min(e^epsilon alpha + delta, 1 - e^-epsilon (1 - delta - alpha), 1), raised likewise.
/// Preconditions: epsilon >= 0; 0 <= delta < 1; 0 < alpha < 1. Throws UsageError naming the argument.
double attack_power(double epsilon, double delta, double alpha);

/// Best accuracy of an attacker who is shown either of two equally likely neighbors: Phi(mu / 2), raised likewise.
/// Precondition: as gdp_attack_power. Throws UsageError naming the argument.
double gdp_even_odds_accuracy(double mu);

// The noise of several blocks under one budget, for sensitivities in any unit.
//
//   s_b   noise standard deviation on each number of block b
//   D_b   L2 sensitivity of block b; one record may move all blocks at once
//   W_b   loss weight: how much the loss grows per unit of s_b^2; (numbers in the block) x (loss per number)
//
// noise_plan.hpp does the same for the statistics of a run, whose sensitivities are integers with several profiles.

struct WeightedBlock {
  double sensitivity;
  double loss_weight;
};

struct NoiseOfBlock {
  double sigma;         ///< rounded up
  double variance;      ///< sigma^2, rounded up
  double share_of_mu2;  ///< D_b^2 / (sigma^2 mu^2); their sum is at most 1, up to the rounding of this figure
};

/// Returns the noise that minimizes sum_b W_b s_b^2 subject to sum_b D_b^2 / s_b^2 <= mu^2, by Lagrange
///   s_b^2 = (D_b / sqrt(W_b)) (sum_j D_j sqrt(W_j)) / mu^2,
/// so that the block's share of mu^2 is D_b sqrt(W_b) / sum_j D_j sqrt(W_j). Computed with 50 digits; every sigma is
/// rounded up, so that the constraint holds for the doubles returned. Preconditions: some block; every D_b and W_b > 0
/// and finite; kSmallestMu <= mu <= kLargestMu; every s_b a finite double. Throws UsageError naming the argument and
/// its value.
std::vector<NoiseOfBlock> split_blocks(std::span<const WeightedBlock> blocks, double mu);

// Zero-concentrated DP (zCDP): Renyi divergence of every order alpha > 1 at most alpha * rho.
//
//   rho              the zCDP parameter; releases compose by addition; Gaussian noise has rho = mu^2 / 2, exactly
//   epsilon, delta   the guarantee derived from it; L = ln(1/delta)
//
// These conversions hold for any rho-zCDP mechanism, so for Gaussian noise they are looser than those above: at
// (1, 1e-6) the tight one asks for 7% more noise, the simple one for 27% more. All results are rounded to the safe
// side. Sources: [bun2016], Proposition 1.3 (simple); [canonne2020], Corollary 13 (tight).

/// Range of rho: about that of mu^2 / 2.
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
