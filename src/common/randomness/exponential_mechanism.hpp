// The exact exponential mechanism: one candidate, each with probability exactly proportional to exp(gamma u_i).
//
//   Legend. W_i = m_i exp(gamma (u_i - u_max)) the weight of candidate i, S_i = W_0 + ... + W_{i-1}, S_n their total;
//           U in [0, 1) a uniform real: the 128 digits of one block of the stream's row 0, continued in rows 1, 2, ...
//           of the same column.
//
// The choice is the one i with S_i <= U S_n < S_{i+1}, as the real numbers are: a function of the tape and the
// utilities, which every right way of computing it finds. It does not change when all utilities are shifted, or with
// the machine, the number of threads, or how sums are split. A selection takes one whole block of the stream, whatever
// it decides.
//
// Privacy (selection_rate.hpp): with the rate of selection_rate(epsilon, Delta, change) one selection is epsilon-DP and
// of range epsilon. With multiplicities this is the mechanism over the m_i outcomes that candidate i stands for,
// provided that m_i is public, or that candidates are ordered by rank and m_i is the number of outcomes of that rank.
// How long a selection takes depends on the utilities: rarely (see the .cpp) it is much longer. Not for callers whose
// adversary holds a stopwatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/randomness/multiplicities.hpp"
#include "common/randomness/random_stream.hpp"
#include "common/randomness/selection_rate.hpp"

namespace dpreduce {

/// i with probability exp(gamma u_i) / sum_j exp(gamma u_j), for any 64-bit utilities.
///
/// Preconditions: require_valid(rate); utilities are not empty. Throws UsageError; EntropyFailure if the stream ends or
/// its digits cannot be random (an event of probability below 2^-1000). Cost: two readings of the utilities, 4 ns a
/// candidate. Source: [mcsherry2007]; exactness is ours.
std::size_t select_exponential(RandomStream& stream, std::span<const std::int64_t> utilities,
                               const SelectionRate& rate);

/// i with probability m_i exp(gamma u_i) / sum_j m_j exp(gamma u_j).
///
/// Preconditions: require_valid(rate); as many multiplicities as utilities; some m_i > 0. Throws as above.
std::size_t select_exponential_weighted(RandomStream& stream, std::span<const std::int64_t> utilities,
                                        const Multiplicities& multiplicities, const SelectionRate& rate);

/// The same two functions by integers alone, microseconds a candidate: what the fast ones fall back on, and their
/// oracle.
std::size_t select_exponential_by_integers(RandomStream& stream, std::span<const std::int64_t> utilities,
                                           const SelectionRate& rate);
std::size_t select_exponential_weighted_by_integers(RandomStream& stream, std::span<const std::int64_t> utilities,
                                                    const Multiplicities& multiplicities, const SelectionRate& rate);

}  // namespace dpreduce
