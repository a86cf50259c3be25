// The exponential mechanism: its rate, its probabilities, and the draw.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/base/floating_point.hpp"
#include "common/randomness/certified_exp.hpp"
#include "common/randomness/random_stream.hpp"

namespace dpreduce {

// Numbers of equally good outcomes of each candidate of a private selection, as exact integers of any size.

/// m_i >= 0, with the leading digits of each beside it. Made once, used for many selections.
class Multiplicities {
 public:
  /// Precondition (asserted): none is negative. Throws UsageError if one has more than 2^20 binary digits.
  explicit Multiplicities(std::vector<BigInteger> counts);

  /// m_j = C(j, subset_size - 1), j = 0, ..., candidates - 1: so many sets of `subset_size` candidates have candidate j
  /// as their worst, when candidates come in falling order of utility. About 32 bytes and a product each.
  ///
  /// Precondition (asserted): subset_size >= 1. Throws as the constructor. Source: [wahdany2025], DPPL-PublicK; its
  /// printed multiplicity C(rank, subset_size) is that of "worst or better" and not private.
  static Multiplicities of_subsets_by_worst(std::size_t candidates, std::size_t subset_size);

  std::size_t size() const { return counts_.size(); }
  const BigInteger& operator[](std::size_t candidate) const { return counts_[candidate]; }

  /// m_i = leading(i) * 2^exponent(i) * (1 + theta), 0 <= theta < 2^-52, 1 <= leading(i) < 2.
  /// For m_i = 0 leading is 0 and exponent -infinity.
  double leading(std::size_t candidate) const { return leading_[candidate]; }
  double exponent(std::size_t candidate) const { return exponents_[candidate]; }
  /// The largest exponent; 0 if there is none.
  unsigned most_exponent() const { return most_exponent_; }

 private:
  std::vector<BigInteger> counts_;
  std::vector<double> leading_;
  std::vector<double> exponents_;
  unsigned most_exponent_ = 0;
};

// Steepness of a private selection's preference for the better candidate: gamma, an exact rational, and the cost of the
// selection.
//
//   Legend. u_i the utility of candidate i, an exact integer; Delta the most that one record changes any u_i.
//
//     ScoreChange::kMonotone   one record moves all utilities in one direction: gamma = epsilon / Delta
//     ScoreChange::kGeneral    some may rise while others fall:                 gamma = epsilon / (2 Delta)
//
// Monotone: adding a record raises each gamma u_i by something in [0, epsilon]; the logarithm of the sum of all
// exp(gamma u_i) rises by something in [0, epsilon] too, so that log P(i) changes by at most epsilon. Generally each
// gamma u_i moves within [-epsilon/2, epsilon/2], and so does the logarithm of the sum.

/// gamma = numerator / (denominator * 2^scale_bits), exactly. Need not be in lowest terms. Where it is used (asserted):
/// numerator >= 1, denominator >= 1, scale_bits <= kMostRateScaleBits.
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
/// add/remove, and not under replace-one. Preconditions (asserted): kSmallestSelectionEpsilon <= epsilon <=
/// kLargestSelectionEpsilon; sensitivity >= 1.
SelectionRate selection_rate(double epsilon, std::uint64_t sensitivity, ScoreChange change);

// exp(-gamma d) for an exact rate gamma and an integer distance d: quickly with a bound on the error, or between
// integers to any precision.
//
// The quick value is 2^-x, x = gamma log2(e) d, in doubles. With u = 2^-53 and |f| <= 1/2:
//
//   slope   numerator, denominator, their quotient, log2(e) and the product are rounded once each      5 u  relative
//   x       d and its product with the slope are rounded                                               7 u  relative
//   f       = x - round(x) is exact
//   2^-f    Taylor polynomial of degree 12, coefficients a_j = (-ln 2)^j / j! by a recurrence (2j+1 roundings), Horner
//           (2j+1 more): sum_j (4j+2) u |a_j f^j| <= 4.8 u; truncation below 1.6 u; over 2^-f >= 0.7        10 u
//
// (second-order terms are covered by rounding up). All of it supposes IEEE arithmetic, rounding to nearest: who decides
// by the quick value checks can_decide_by_doubles() and otherwise takes the exact bounds. Nothing depends on *which*
// bits come out within the bound.

#ifdef __FAST_MATH__
#error "the bounds of the exponential mechanism need IEEE arithmetic: compile without -ffast-math"
#endif
static_assert(std::numeric_limits<double>::is_iec559);

inline constexpr double kMostHalvings = 100;  // smaller powers than 2^-100 are not told apart by the quick value
inline constexpr double kPowerRoundoffs = 10;
inline constexpr double kHalvingsRoundoffs = 7;

/// Returns whether doubles are rounded to nearest, now and in this thread.
bool can_decide_by_doubles();

/// value (1 + theta), |theta| <= u. Without a conversion instruction, so that loops of it vectorize everywhere.
inline double nearest_double(std::uint64_t value) {
  constexpr std::uint64_t kHighOne = 0x4530000000000000;  // 2^84, whose last digit is worth 2^32
  constexpr std::uint64_t kLowOne = 0x4330000000000000;   // 2^52, whose last digit is worth 1
  const auto high = std::bit_cast<double>(kHighOne | value >> 32);
  const auto low = std::bit_cast<double>(kLowOne | (value & 0xffffffff));
  return (high - (0x1p84 + 0x1p52)) + low;  // the first difference is exact
}

inline constexpr int kPowerDegree = 12;
inline constexpr auto kPowerCoefficients = [] {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  std::array<double, kPowerDegree + 1> coefficients{1};
  for (std::size_t order = 1; order < coefficients.size(); ++order) {
    coefficients[order] = coefficients[order - 1] * -kLn2 / static_cast<double>(order);
  }
  return coefficients;
}();

// sum of a_j f^(j - order) over j >= order. A recursion, since GCC 12 does not vectorize a loop around a loop.
template <std::size_t order>
double power_polynomial(double f) {
  if constexpr (order + 1 == kPowerCoefficients.size()) {
    return kPowerCoefficients[order];
  } else {
    return power_polynomial<order + 1>(f) * f + kPowerCoefficients[order];
  }
}

/// 2^-x (1 + theta), |theta| <= kPowerRoundoffs u. Precondition, not checked: 0 <= x <= 1000.
inline double power_of_half(double x) {
  constexpr double kRounder = 0x1.8p52;  // adding it rounds to an integer, which then stands in the last digits
  const double shifted = x + kRounder;
  const double f = x - (shifted - kRounder);
  const std::uint64_t scale = (std::uint64_t{1023} << 52) - (std::bit_cast<std::uint64_t>(shifted) << 52);
  return power_polynomial<0>(f) * std::bit_cast<double>(scale);
}

/// d -> exp(-gamma d).
class ExponentialDecay {
 public:
  explicit ExponentialDecay(const SelectionRate& rate);

  /// x (1 + theta) with exp(-gamma d) = 2^-x, |theta| <= kHalvingsRoundoffs u.
  double halvings(std::uint64_t distance) const { return nearest_double(distance) * slope_; }

  /// lower <= 2^bits * exp(-gamma d) <= upper, upper - lower <= 4; equal if d = 0.
  IntegerBounds bounds(std::uint64_t distance, unsigned bits) const;

 private:
  double slope_;  // gamma log2(e)
  BigInteger numerator_;
  BigInteger denominator_;  // with its power of two
};

// The exact exponential mechanism: one candidate, each with probability exactly proportional to exp(gamma u_i).
//
//   Legend. W_i = m_i exp(gamma (u_i - u_max)) the weight of candidate i, S_i = W_0 + ... + W_{i-1}, S_n their total;
//           U in [0, 1) a uniform real: the 128 digits of one block of the stream's row 0, continued in rows 1, 2, ...
//           of the same column.
//
// The choice is the i with S_i <= U S_n < S_{i+1} in real arithmetic: a function of the tape and the utilities, the
// same for every correct computation. It does not change when all utilities are shifted, or with the machine, the
// number of threads, or how sums are split. A selection takes one whole block of the stream, whatever it decides.
//
// Privacy (SelectionRate): with the rate of selection_rate(epsilon, Delta, change) one selection is epsilon-DP and of
// range epsilon. With multiplicities this is the mechanism over m_i outcomes for candidate i. The m_i must be public;
// or candidates are ordered by rank, and m_i is the number of outcomes of that rank. The time of a selection depends on
// the utilities: rarely (see the .cpp) it is much longer. Not for callers whose adversary can measure time.

/// i with probability m_i exp(gamma u_i) / sum_j m_j exp(gamma u_j), for any 64-bit utilities; without multiplicities
/// every m_i is 1.
///
/// Preconditions (asserted): utilities are not empty; as many multiplicities as utilities; some m_i > 0. Throws
/// EntropyFailure if the stream ends or its digits cannot be random (an event of probability below 2^-1000). Cost: two
/// readings of the utilities, 4 ns a candidate; by integers alone, microseconds, where doubles are not rounded to
/// nearest. Source: [mcsherry2007]; exactness is ours.
std::size_t select_exponential(RandomStream& stream, std::span<const std::int64_t> utilities, const SelectionRate& rate,
                               const Multiplicities* multiplicities = nullptr);

}  // namespace dpreduce
