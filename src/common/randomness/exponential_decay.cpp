#include "common/randomness/exponential_decay.hpp"

#include <cfenv>
#include <cfloat>
#include <cmath>

namespace dpreduce {

static_assert(FLT_EVAL_METHOD == 0, "doubles must be rounded to doubles after each operation");

bool can_decide_by_doubles() {
  return std::fegetround() == FE_TONEAREST;
}

ExponentialDecay::ExponentialDecay(const SelectionRate& rate) {
  constexpr double kLog2E = 0x1.71547652b82fep0;
  require_valid(rate);
  slope_ = std::ldexp(static_cast<double>(rate.numerator) / static_cast<double>(rate.denominator) * kLog2E,
                      -static_cast<int>(rate.scale_bits));
  numerator_ = rate.numerator;
  denominator_ = BigInteger(rate.denominator) << rate.scale_bits;
}

// With t = gamma d and T = floor(2^bits t) / 2^bits, exp(-T) - 2^-bits <= exp(-t) <= exp(-T), since exp(-.) has a slope
// of at most 1.
IntegerBounds ExponentialDecay::bounds(std::uint64_t distance, unsigned bits) const {
  const BigInteger scaled = ((numerator_ * distance) << bits) / denominator_;
  IntegerBounds bounds = exp_of_minus(scaled, bits, bits);
  if (distance != 0 && bounds.lower > 0) bounds.lower -= 1;
  return bounds;
}

}  // namespace dpreduce
