#include "common/randomness/certified_exp.hpp"

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

BigInteger ceil_shift(const BigInteger& value, unsigned bits) {
  return (value + ((BigInteger(1) << bits) - 1)) >> bits;
}

// 2^bits * exp(-r) for r = 2^-bits * [r.lower, r.upper] in [0, 1/2].
//
// By Taylor's theorem with the remainder in integral form, for every r >= 0
//     exp(-r) - sum_{i < k} (-r)^i / i!  =  (-1)^k * (something >= 0),
// so that a partial sum that ends with an added term lies above and one that ends with a subtracted term lies below.
IntegerBounds taylor(const IntegerBounds& r, unsigned bits) {
  IntegerBounds term{BigInteger(1) << bits, BigInteger(1) << bits};
  IntegerBounds sum{0, 0};
  for (unsigned order = 0;; ++order) {
    const bool added = order % 2 == 0;
    sum.lower += added ? term.lower : -term.upper;
    sum.upper += added ? term.upper : -term.lower;
    if (term.upper <= 1) {
      // The sum before this term lies on the other side, and differs from this one by at most 1.
      return added ? IntegerBounds{sum.lower - 1, sum.upper} : IntegerBounds{sum.lower, sum.upper + 1};
    }
    term.lower = ((term.lower * r.lower) >> bits) / (order + 1);
    term.upper = ((term.upper * r.upper) >> bits) / (order + 1) + 1;
  }
}

}  // namespace

IntegerBounds exp_of_minus(const BigInteger& numerator, unsigned scale_bits, unsigned bits) {
  DPREDUCE_ASSERT(numerator >= 0);
  if (numerator == 0) return {BigInteger(1) << bits, BigInteger(1) << bits};
  // exp(-t) < 2^-bits for t >= bits, since e > 2.
  const BigInteger whole = numerator >> scale_bits;
  if (whole >= bits) return {0, 1};

  // exp(-t) = exp(-r)^(2^halvings), r = t / 2^halvings <= 1/2. A squaring doubles the relative error; `guard` digits
  // are for that and for the roundings of at most 2^8 Taylor terms.
  const unsigned halvings = whole == 0 ? 1 : static_cast<unsigned>(msb(whole)) + 2;
  const unsigned guard = halvings + 12;
  const unsigned working_bits = bits + guard;
  const BigInteger scaled = numerator << working_bits;
  const unsigned shift = scale_bits + halvings;
  IntegerBounds power = taylor({scaled >> shift, ceil_shift(scaled, shift)}, working_bits);
  if (power.lower < 0) power.lower = 0;
  for (unsigned squaring = 0; squaring < halvings; ++squaring) {
    power.lower = (power.lower * power.lower) >> working_bits;
    power.upper = ceil_shift(power.upper * power.upper, working_bits);
  }
  return {power.lower >> guard, ceil_shift(power.upper, guard)};
}

}  // namespace dpreduce
