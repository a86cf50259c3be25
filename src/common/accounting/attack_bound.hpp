// What a guarantee means for somebody who has to tell two neighboring data sets apart by what was released: the test
// "was this record in?", for an attacker who knows everything else and has unlimited means.
//
//   alpha   false-positive rate: how often an absent record is called present
//   power   true-positive rate: how often a present record is called so
//
// Sources: [dong2022], equations (2) and (6); [kairouz2015] (epsilon, delta).
#pragma once

namespace dpreduce {

/// The best power at alpha against a mu-GDP release, Phi(Phi^-1(alpha) + mu), raised by 1e-12 relative for the rounding
/// of double; at most 1. Gaussian noise of sigma = D / mu permits exactly that. Preconditions: kSmallestMu <= mu <=
/// kLargestMu; 0 < alpha < 1. Throws UsageError naming the argument.
double gdp_attack_power(double mu, double alpha);

/// The best power at alpha against any (epsilon, delta)-DP release:
///   min(e^epsilon alpha + delta, 1 - e^-epsilon (1 - delta - alpha), 1), raised likewise.
/// Preconditions: epsilon >= 0; 0 <= delta < 1; 0 < alpha < 1. Throws UsageError naming the argument.
double attack_power(double epsilon, double delta, double alpha);

/// How often an attacker is right at best who is shown either of two equally likely neighbors: Phi(mu / 2), raised
/// likewise. Precondition: as gdp_attack_power. Throws UsageError naming the argument.
double gdp_even_odds_accuracy(double mu);

}  // namespace dpreduce
