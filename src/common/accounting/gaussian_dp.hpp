// Gaussian differential privacy (GDP): exact guarantees of Gaussian noise.
//
//   epsilon, delta   the guarantee P[A] <= e^epsilon P'[A] + delta; epsilon in nats
//   sensitivity D    L2 distance that one neighboring change can cause
//   sigma            standard deviation of the noise on every coordinate
//   mu = D / sigma   the GDP parameter; releases compose as mu^2 = sum_r mu_r^2, also when chosen adaptively
//   rho = mu^2 / 2   the same noise as zero-concentrated DP (zcdp.hpp)
//
// For every mu and every pair (epsilon, delta), mu-GDP is (epsilon, delta)-DP if and only if delta >= delta(epsilon,
// mu) below, so nothing smaller exists for Gaussian noise. Adjacency enters only through D.
//
// All functions compute with 50 digits and round once, to the safe side: what they return is always true, and at most
// about an ulp away from the best true double.
// Sources: [dong2022], Corollary 1; [balle2018], Theorem 8.
#pragma once

#include <cstdint>
#include <span>

namespace dpreduce {

/// Ranges inside which the results carry at least 20 correct digits before they are rounded.
inline constexpr double kSmallestMu = 1e-20;
inline constexpr double kLargestMu = 1e4;
inline constexpr double kLargestEpsilon = 1e6;

/// delta(epsilon, mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), rounded up (never 0).
///
/// Preconditions: 0 <= epsilon <= 1e9, finite; kSmallestMu <= mu <= kLargestMu. Throws UsageError naming the argument
/// and its value.
double gdp_delta(double epsilon, double mu);

/// The smallest epsilon >= 0 with delta(epsilon, mu) <= delta, rounded up; 0 where delta(0, mu) <= delta.
///
/// Preconditions: kSmallestMu <= mu <= kLargestMu; 0 < delta < 1. Throws UsageError naming the argument and its value.
double gdp_epsilon(double mu, double delta);

/// The largest mu with delta(epsilon, mu) <= delta, rounded down.
///
/// Preconditions: 0 <= epsilon <= kLargestEpsilon; 0 < delta < 1; the result is at least kSmallestMu. Throws UsageError
/// naming the argument and its value.
double gdp_mu(double epsilon, double delta);

/// sigma = sensitivity / mu, the smallest noise that makes the release (epsilon, delta)-DP, rounded up.
///
/// The unit is the sensitivity's. For a joint release of blocks, sensitivity is the joint one: a class sum of rows with
/// norm at most 1 together with its count has sqrt(2), not 1. Preconditions: as gdp_mu; sensitivity > 0 and finite.
/// Throws UsageError naming the argument and its value.
double gaussian_sigma(double epsilon, double delta, double sensitivity);

/// sigma = sqrt(steps) sensitivity / mu, rounded up: the noise of each of so many releases that have mu together.
///
/// Preconditions: kSmallestMu <= mu <= kLargestMu; sensitivity > 0 and finite; steps >= 1; sigma is a finite double.
/// Throws UsageError naming the argument and its value.
double sigma_for_mu(double mu, double sensitivity, std::uint64_t steps = 1);

/// sqrt(sum_r mu_r^2), rounded up: the GDP parameter of all the releases together; 0 for none.
///
/// Precondition: every mu is >= 0 and finite. Throws UsageError naming the value.
double gdp_compose(std::span<const double> mus);

}  // namespace dpreduce
