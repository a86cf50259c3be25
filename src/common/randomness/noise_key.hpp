// One secret from which independent streams follow.
//
//     stream = PRF(secret key, purpose || context)
//
// Privacy is thereby as good as a computation can make it (AES-256, HMAC-SHA256).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/randomness/random_stream.hpp"
#include "common/randomness/secure_bytes.hpp"

namespace dpreduce {

/// 32 secret bytes. Movable, not copyable, not printable; overwritten when it goes.
class NoiseKey {
 public:
  /// 32 bytes of `source`. Throws EntropyFailure.
  static NoiseKey from_entropy(const EntropySource& source = openssl_private_bytes);

  /// SHA-256("dpreduce noise key from seed v1" || 0 || seed, 8 bytes little-endian): repeatable, hence not private.
  static NoiseKey from_seed(std::uint64_t seed);

  /// A key of these bytes.
  static NoiseKey from_bytes(std::span<const std::byte, 32> bytes);

  NoiseKey(NoiseKey&&) noexcept = default;
  NoiseKey& operator=(NoiseKey&&) noexcept = default;
  NoiseKey(const NoiseKey&) = delete;
  NoiseKey& operator=(const NoiseKey&) = delete;
  friend std::ostream& operator<<(std::ostream&, const NoiseKey&) = delete;

  /// The stream of (purpose, context): AES-256-CTR under
  ///
  ///     HMAC-SHA256(key, "dpreduce stream v1" || 0 || |purpose| || purpose || |context| || context),
  ///
  /// lengths as 8 bytes little-endian. Streams of different pairs are independent (PRF); the same pair gives the same
  /// stream again, so a pair must never serve two different releases.
  RandomStream stream(std::string_view purpose, std::span<const std::byte> context) const;

 private:
  explicit NoiseKey(SecretVector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  SecretVector<std::byte> authenticate(std::span<const std::byte> message) const;

  SecretVector<std::byte> bytes_;  // 32, or none after a move: a moved-from key derives nothing
};

}  // namespace dpreduce
