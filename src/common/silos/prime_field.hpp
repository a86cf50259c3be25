// Arithmetic mod p = 2^61 - 1, a Mersenne prime: what secrets are shared in.
//
// Values are always reduced, 0 <= a < p. Sums and products take no branch on a value.
#pragma once

#include <cstdint>

namespace dpreduce {

class FieldElement {
 public:
  static constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

  constexpr FieldElement() = default;
  /// value mod p, of any 64 bits.
  constexpr explicit FieldElement(std::uint64_t value) : value_(reduced((value & kPrime) + (value >> 61))) {}

  constexpr std::uint64_t value() const { return value_; }

  friend constexpr FieldElement operator+(FieldElement a, FieldElement b) { return of(reduced(a.value_ + b.value_)); }
  friend constexpr FieldElement operator-(FieldElement a, FieldElement b) {
    return of(reduced(a.value_ + (kPrime - b.value_)));
  }
  friend constexpr FieldElement operator*(FieldElement a, FieldElement b) {
    const Wide product = Wide{a.value_} * b.value_;  // < 2^122 = 2^61 * 2^61, and 2^61 = 1
    return of(reduced((static_cast<std::uint64_t>(product) & kPrime) + static_cast<std::uint64_t>(product >> 61)));
  }
  friend constexpr bool operator==(FieldElement, FieldElement) = default;

  /// 1 / a = a^(p - 2) (Fermat). Preconditions: a is not 0; of 0 the result is 0.
  constexpr FieldElement inverse() const {
    FieldElement result(1);
    FieldElement power = *this;
    for (std::uint64_t exponent = kPrime - 2; exponent != 0; exponent >>= 1) {
      if ((exponent & 1) != 0) result = result * power;
      power = power * power;
    }
    return result;
  }

 private:
  __extension__ using Wide = unsigned __int128;

  static constexpr FieldElement of(std::uint64_t value) {
    FieldElement element;
    element.value_ = value;
    return element;
  }
  // value < 2 p
  static constexpr std::uint64_t reduced(std::uint64_t value) {
    const std::uint64_t less = value - kPrime;
    const std::uint64_t is_small = std::uint64_t{0} - (less >> 63);  // all ones where value < p
    return (value & is_small) | (less & ~is_small);
  }

  std::uint64_t value_ = 0;
};

}  // namespace dpreduce
