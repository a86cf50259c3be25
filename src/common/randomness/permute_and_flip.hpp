// Permute-and-flip: report the noisy maximum with exponential noise, exactly.
//
// Candidates are visited in a uniformly random order; candidate i is taken with probability exp(-gamma (u_max - u_i)),
// and the first one taken is the result. The distribution is that of argmax (u_i + exponential noise of rate gamma).
// Its expected utility is never below, and up to twice as near to the best as, that of the exponential mechanism at
// the same rate.
//
// Privacy: with the rate of selection_rate(epsilon, Delta, change) one selection is epsilon-DP. It is *not* of range
// epsilon: charge SelectionGuarantee::kPureOnly, never epsilon^2/8-zCDP. Proof by the noisy maximum: fix the noise of
// the others; i wins with probability min(1, exp(-gamma (b - u_i))), b the best of the others, and b - u_i moves by at
// most Delta if all utilities move one way by at most Delta, by at most 2 Delta generally.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/randomness/random_stream.hpp"
#include "common/randomness/selection_rate.hpp"

namespace dpreduce {

/// i with the probability that permute-and-flip gives it; on n = 2, with p = exp(-gamma (u_max - u_min)), the worse one
/// has p/2.
///
/// Takes one block of the stream a candidate, whatever is decided: candidate i's column holds the digits of a coin and
/// of its place in the order (`first` and `second` of rows 0, 1, ...). Neither the order of visiting nor arithmetic has
/// a part in the result. How long it takes depends on the utilities.
///
/// Preconditions: require_valid(rate); utilities are not empty. Throws UsageError; EntropyFailure if the stream ends or
/// its digits cannot be random (an event of probability below 2^-1000). Cost: 5 ns a candidate. Source: [mckenna2020],
/// Algorithm 1; the equality with exponential noise: [ding2021]. Departure: the order is by real keys instead of
/// shuffling.
std::size_t permute_and_flip(RandomStream& stream, std::span<const std::int64_t> utilities, const SelectionRate& rate);

}  // namespace dpreduce
