// Bounds on a mechanism that counts of an attack's guesses prove, with a given probability of error.
//
// Legend: world 0 is a data set, world 1 the same with a canary. Of n_0 runs in world 0 the attack says "canary" in
// false_positives, of n_1 in world 1 in true_positives; FPR and TPR are the probabilities behind these counts.
//
//     (epsilon, delta)-DP   TPR <= e^epsilon FPR + delta   and   1 - FPR <= e^epsilon (1 - TPR) + delta
//     mu-GDP                Phi^-1(TPR) - Phi^-1(FPR) <= mu
//
// Both hold for every attack, so every attack can refute. An attack and its threshold must be fixed before the runs on
// which it is counted.
#pragma once

#include <cstddef>

namespace dpreduce {

/// Phi(x) of the standard normal law, in double: the errors of attacks and bounds are far larger.
double normal_cdf(double x);

/// x with Phi(x) = p. Precondition: 0 < p < 1.
double normal_quantile(double p);

/// Counts of an attack's guesses, in runs that it had not seen before.
struct AttackCounts {
  std::size_t true_positives = 0;   ///< of world_1 runs
  std::size_t world_1 = 0;          ///< n_1
  std::size_t false_positives = 0;  ///< of world_0 runs
  std::size_t world_0 = 0;          ///< n_0
};

/// The p for which P[Binomial(trials, p) >= successes] = error: P[p_true < bound] <= error. 0 without successes.
/// Preconditions (asserted): 0 <= successes <= trials, trials >= 1, 0 < error < 1. Source: [clopper1934].
double binomial_lower_bound(std::size_t successes, std::size_t trials, double error);

/// The p for which P[Binomial(trials, p) <= successes] = error; 1 where all were successes. Preconditions: as above.
double binomial_upper_bound(std::size_t successes, std::size_t trials, double error);

/// ln((TPR_low - delta) / FPR_high), or the same for the attack's denials, ln((TNR_low - delta) / FNR_high), as `side`
/// says; 0 where that is negative. Exceeds the epsilon of an (epsilon, delta)-DP mechanism with probability at most
/// `error`, half of which goes to each of the two rates.
/// Preconditions (asserted): 0 <= delta < 1; as binomial_lower_bound.
enum class Side { kAccusals, kDenials };
double epsilon_lower_bound(const AttackCounts& counts, Side side, double delta, double error);

/// Phi^-1(TPR_low) - Phi^-1(FPR_high), or 0: exceeds the mu of a mu-GDP mechanism with probability at most `error`.
/// The denials of the attack give the same number.
double mu_lower_bound(const AttackCounts& counts, double error);

/// The largest mu whose Gaussian mechanism is (epsilon, delta)-DP, computed apart from the accounting that an audit
/// checks: bisection of delta(mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) in double, good to a
/// relative 1e-6. Preconditions (asserted): 0 <= epsilon <= 500; 0 < delta < 1.
double mu_of_claim(double epsilon, double delta);

/// The epsilon of mu-GDP at delta, by the same formula; 0 where delta(0) <= delta.
double epsilon_of_mu(double mu, double delta);

}  // namespace dpreduce
