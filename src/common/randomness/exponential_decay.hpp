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
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "common/base/floating_point.hpp"
#include "common/randomness/certified_exp.hpp"
#include "common/randomness/selection_rate.hpp"

namespace dpreduce {

#ifdef __FAST_MATH__
#error "the bounds of the exponential mechanism need IEEE arithmetic: compile without -ffast-math"
#endif
static_assert(std::numeric_limits<double>::is_iec559);

inline constexpr double kMostHalvings = 100;  // smaller powers than 2^-100 are not told apart by the quick value
inline constexpr double kPowerRoundoffs = 10;
inline constexpr double kHalvingsRoundoffs = 7;

/// Whether doubles are rounded to nearest, now and in this thread.
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
  /// Throws UsageError as require_valid(rate).
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

}  // namespace dpreduce
