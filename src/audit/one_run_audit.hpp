// The audit by one run: many canaries at once in one training set.
//
// Legend: canary i has class c_i and two forms, in and out: a row of norm C or no row (add-remove), a row and its
// opposite (replace-one), as a fair coin t_i = +-1 says. a_i and b_i are its lattice rows in and out, S-normed, V the
// released class sums, B the exact ones without any canary (the auditor owns the rows), s the noise.
//
//     V_c - B_c - sum_i (a_i + b_i) / 2 = H^T t + N(0, s^2 I),      h_i = (a_i - b_i) / 2, the rows of H
//     score = H (s^2 I + H^T H)^-1 (V_c - B_c - sum_i (a_i + b_i) / 2)        the best linear estimate of t
//
// Where the unit is a person, a canary is one with 2 B rows, all alike, which lie on several ranks; every other row is
// a person. a_i and b_i are then sums of the weighed rows.
//
// Any method that releases class sums will do; what else it releases is not looked at. Canaries of one class are at
// right angles as long as there are no more of them than features: then none hides another.
//
// The r scores farthest from 0 are guessed about, by their signs (one_run_bound.hpp).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "audit/audited_method.hpp"
#include "audit/one_run_bound.hpp"
#include "common/files/private_folder.hpp"

namespace dpreduce {

struct OneRunTerms {
  std::size_t canaries = 0;  ///< m
  double delta = 0.0;
  double error = 0.0;
};

/// What is proven, but for probability terms.error.
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
