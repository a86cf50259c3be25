// Shares of a secret: any t of them give it back, t - 1 tell nothing [shamir1979].
//
//     limb l of the secret, 56 bits, is f_l(0); share of holder h: f_l(h), l = 0..4
//     f_l a polynomial of degree t - 1 over the field of 2^61 - 1 (prime_field.hpp), its other coefficients uniform
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

inline constexpr std::size_t kSecretBytes = 32;
inline constexpr std::size_t kLimbs = 5;
inline constexpr std::size_t kShareBytes = 8 * kLimbs;

struct Share {
  std::uint32_t holder = 0;
  std::array<std::uint64_t, kLimbs> values{};

  bool operator==(const Share&) const = default;
  friend std::ostream& operator<<(std::ostream&, const Share&) = delete;
};

/// A share for each holder, in their order. Preconditions (asserted): |secret| = 32; 1 <= threshold <= |holders|;
/// holders from 1 on, all different. Throws EntropyFailure.
std::vector<Share> share_secret(std::span<const std::byte> secret, std::uint32_t threshold,
                                std::span<const std::uint32_t> holders,
                                const EntropySource& source = openssl_private_bytes);

/// The secret of which these are shares, by Lagrange's formula at 0: of |shares| = threshold shares. Of too few, or of
/// shares that do not belong together, other bytes, or none: empty where a limb is out of range.
/// Preconditions (asserted): at least one share; holders from 1 on, all different.
SecretVector<std::byte> reconstruct_secret(std::span<const Share> shares);

}  // namespace dpreduce
