// Audits by one run, and the bound that its guesses prove.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "audit/audited_method.hpp"
#include "common/base/output_file.hpp"

namespace dpreduce {

// Bound that one run with many canaries proves.
//
// Legend: m canaries, each of which a fair coin t_i puts in or leaves out; N of r guesses g_i about them are right. The
// mechanism is f-DP: P[o in E | t] <= F(P[o in E | t']) for t, t' that differ in one coin, F = 1 - f concave, rising.
//
// Let E be "g_i is right, and N >= v". With t_i turned over, the same output o makes g_i wrong, and N less by one. So
// P[g_i right, N >= v | t] <= F(P[g_i wrong, N >= v - 1 | t']). Averaged over coins and canaries (F is concave), with
// p_j = P[N = j],
//
//     A_v / m <= F(B_(v-1) / m),      A_i = sum_{j >= i} j p_j,    B_i = sum_{j >= i} (r - j) p_j         for every v
//
// In tails S_i = P[N >= i] and U_i = sum_{k >= i} S_k these are A_i = U_i + (i - 1) S_i and
// B_(i-1) = (r - i + 1) S_(i-1) - U_i, so that with G the inverse of F
//
//     S_(i-1) >= max(S_i, (U_i + m G(A_i / m)) / (r - i + 1))
//
// whose right-hand side rises in all S_k, k >= i. From S_v = error and S_k = 0 beyond, the smallest tails that can be
// are hence those of equality, downwards from v. Where one of them passes 1, P[N >= v] was below `error`: whoever saw v
// right guesses refutes f, and is wrong with probability at most `error`.
//
//     mu-GDP                G(y) = Phi(Phi^-1(y) - mu)
//     (epsilon, delta)-DP   G(y) = max(e^-epsilon (y - delta), 1 - delta - e^epsilon (1 - y), 0)
//
// The bounds on mu and on epsilon are of one event, N >= v, each for its own v: both together are false with
// probability at most `error` where claims are true.
//
// Source: [mahloujifar2024] for the inequality on A and B; that of coins turned over is [steinke2023].

/// Guesses about canaries, and how many were right.
struct CoinGuesses {
  std::size_t canaries = 0;  ///< m
  std::size_t guesses = 0;   ///< r <= m
  std::size_t correct = 0;   ///< v <= r
};

/// Returns whether the guesses refute mu-GDP. Preconditions (asserted): v <= r <= m, m >= 1; mu >= 0; 0 < error < 1.
/// Cost: at most v values of Phi and of its inverse.
bool refutes_mu(const CoinGuesses& seen, double mu, double error);

/// Returns whether they refute (epsilon, delta)-DP. Preconditions (asserted): as above; epsilon >= 0; 0 <= delta < 1.
bool refutes_epsilon(const CoinGuesses& seen, double epsilon, double delta, double error);

/// Largest mu that the guesses refute, rounded down by at most 1e-6; 0 if there is none. Exceeds the true one with
/// probability at most `error`. Preconditions (asserted): as above.
double one_run_mu(const CoinGuesses& seen, double error);

/// Largest epsilon that they refute at delta, likewise, whatever the mechanism.
double one_run_epsilon(const CoinGuesses& seen, double delta, double error);

/// Number of guesses that promises the largest one_run_mu if a canary's score is N(0, 1) left out and N(mu, 1) put in.
/// Depends on public numbers only, and so may be chosen with the guarantee intact. Preconditions (asserted): canaries
/// >= 2; mu > 0; 0 < error < 1.
std::size_t best_guess_count(std::size_t canaries, double mu, double error);

// Audit by one run: many canaries at once in one training set.
//
// Legend: canary i has class c_i and two forms, in and out: a row of norm C or no row (add-remove), a row and its
// opposite (replace-one), as a fair coin t_i = +-1 says. a_i and b_i are its lattice rows in and out, S-normed, V the
// released class sums, B the exact ones without any canary (the auditor owns the rows), s the noise.
//
//     V_c - B_c - sum_i (a_i + b_i) / 2 = H^T t + N(0, s^2 I),      h_i = (a_i - b_i) / 2, the rows of H
//     score = H (s^2 I + H^T H)^-1 (V_c - B_c - sum_i (a_i + b_i) / 2)        the best linear estimate of t
//
// If the unit is a person, a canary is one with 2 B rows, all alike, which lie on several ranks; every other row is a
// person. a_i and b_i are then sums of the weighed rows.
//
// Any method that releases class sums will do; what else it releases is not looked at. Canaries of one class are at
// right angles as long as there are no more of them than features: then none hides another.
//
// The r scores farthest from 0 are guessed about, by their signs.

struct OneRunTerms {
  std::size_t canaries = 0;  ///< m
  double delta = 0.0;
  double error = 0.0;
};

/// Bounds that are proven, except with probability terms.error.
struct OneRunResult {
  CoinGuesses guesses;
  double mu = 0.0;       ///< of a mechanism that is mu-GDP
  double epsilon = 0.0;  ///< at terms.delta, whatever the mechanism
};

/// Runs `method` once over the rows that the patterns name, with canaries among them. Files of its own (canaries,
/// identifiers of persons, ledger) go to `folder`. Preconditions (asserted): canaries >= 2. Throws UsageError where the
/// method releases no class sums; as open_world and for_each_lattice_chunk do.
/// Cost: two passes over the rows; a linear system of min(m / K, d) unknowns a class.
OneRunResult audit_in_one_run(const AuditedMethod& method, const std::vector<std::string>& train_x,
                              const std::vector<std::string>& train_y, const OneRunTerms& terms,
                              const PrivateFolder& folder);

}  // namespace dpreduce
