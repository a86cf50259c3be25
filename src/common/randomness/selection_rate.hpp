// How steeply a private selection prefers the better candidate: gamma, an exact rational, and what the selection costs.
//
//   Legend. u_i the utility of candidate i, an exact integer; Delta the most that one record changes any u_i.
//
//     ScoreChange::kMonotone   one record moves all utilities in one direction: gamma = epsilon / Delta
//     ScoreChange::kGeneral    some may rise while others fall:                 gamma = epsilon / (2 Delta)
//
// Monotone: adding a record raises each gamma u_i by something in [0, epsilon]; the logarithm of the sum of all
// exp(gamma u_i) rises by something in [0, epsilon] too, so that log P(i) changes by at most epsilon. Generally each
// gamma u_i moves within [-epsilon/2, epsilon/2], and so does the logarithm of the sum.
#pragma once

#include <cstdint>

namespace dpreduce {

/// gamma = numerator / (denominator * 2^scale_bits), exactly. Need not be in lowest terms.
struct SelectionRate {
  std::uint64_t numerator = 1;
  std::uint64_t denominator = 1;
  unsigned scale_bits = 0;
};

inline constexpr unsigned kMostRateScaleBits = 256;
inline constexpr double kSmallestSelectionEpsilon = 0x1p-60;
inline constexpr double kLargestSelectionEpsilon = 0x1p20;

enum class ScoreChange { kMonotone, kGeneral };

/// gamma = epsilon / Delta (kMonotone) or epsilon / (2 Delta) (kGeneral): the double is taken for the rational number
/// that it is, nothing is rounded.
///
/// Adjacency is that of `sensitivity` and `change`: utilities that count or add non-negative terms are monotone under
/// add/remove, and not under replace-one. Preconditions: kSmallestSelectionEpsilon <= epsilon <=
/// kLargestSelectionEpsilon (NaN and infinity are refused); sensitivity >= 1. Throws UsageError.
SelectionRate selection_rate(double epsilon, std::uint64_t sensitivity, ScoreChange change);

/// Throws UsageError unless numerator >= 1, denominator >= 1, scale_bits <= kMostRateScaleBits.
void require_valid(const SelectionRate& rate);

}  // namespace dpreduce
