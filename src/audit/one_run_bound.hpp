// What one run with many canaries proves.
//
// Legend: m canaries, each of which a fair coin puts in or leaves out; r of them guessed about, v guesses right.
//
// Under (epsilon, delta)-DP, with W ~ Binomial(r, q), q = e^epsilon / (1 + e^epsilon),
//
//     P[at least v right] <= P[W >= v] + 2 m delta alpha,      alpha = max_{1 <= i <= v} P[v - i <= W < v] / i
//
// Source: Steinke, Nasr, Jagielski, "Privacy auditing with one (1) training run" (2023), Corollary 5.4, Appendix D.
#pragma once

#include <cstddef>

namespace dpreduce {

/// The right-hand side above, at most 1. Preconditions (asserted): v <= r <= m; epsilon >= 0; 0 <= delta <= 1.
/// Cost: v multiplications.
double one_run_p_value(std::size_t canaries, std::size_t guesses, std::size_t correct, double epsilon, double delta);

/// The largest epsilon with p-value below `error`, rounded down by at most 1e-6; 0 where there is none: exceeds the
/// true one with probability at most `error`. Preconditions (asserted): as above; 0 < error < 1.
double one_run_epsilon(std::size_t canaries, std::size_t guesses, std::size_t correct, double delta, double error);

/// The number of guesses that promises the largest one_run_epsilon where a canary's score is N(0, 1) left out
/// and N(mu, 1) put in. Depends on public numbers only, and so may be chosen with the guarantee intact.
/// Preconditions (asserted): canaries >= 2; mu > 0.
std::size_t best_guess_count(std::size_t canaries, double mu, double delta, double error);

}  // namespace dpreduce
