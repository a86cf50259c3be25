// Shares of a secret: any t of them reconstruct it, t - 1 reveal nothing [shamir1979].
//
//     limb l of the secret, 56 bits, is f_l(0); share of holder h: f_l(h), l = 0..4
//     f_l a polynomial of degree t - 1 over the field of 2^61 - 1, its other coefficients uniform
//
// A secret has 32 bytes: four limbs of seven bytes, and one of four. Holders are numbered from 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <vector>

#include "common/randomness/secure_bytes.hpp"

namespace dpreduce {

// Arithmetic mod p = 2^61 - 1, a Mersenne prime: the field in which secrets are shared. Values are always reduced,
// 0 <= a < p. Sums and products do not branch on a value.

class FieldElement {
 public:
  static constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

  constexpr FieldElement() = default;
  /// Reduces any 64-bit value mod p.
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

  /// Inverse 1 / a = a^(p - 2) (Fermat). Precondition: a is not 0; for 0 the result is 0.
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

inline constexpr std::size_t kSecretBytes = 32;
inline constexpr std::size_t kLimbs = 5;
inline constexpr std::size_t kShareBytes = 8 * kLimbs;

struct Share {
  std::uint32_t holder = 0;
  std::array<std::uint64_t, kLimbs> values{};

  bool operator==(const Share&) const = default;
  friend std::ostream& operator<<(std::ostream&, const Share&) = delete;
};

/// Returns a share for each holder, in their order. Preconditions (asserted): |secret| = 32; 1 <= threshold <=
/// |holders|; holders from 1 on, all different. Throws EntropyFailure.
std::vector<Share> share_secret(std::span<const std::byte> secret, std::uint32_t threshold,
                                std::span<const std::uint32_t> holders);

/// Returns the secret of |shares| = threshold shares, by Lagrange's formula at 0. With too few shares, or shares that
/// do not belong together, returns other bytes, or none: empty if a limb is out of range. Preconditions (asserted): at
/// least one share; holders from 1 on, all different.
SecretVector<std::byte> reconstruct_secret(std::span<const Share> shares);

}  // namespace dpreduce
