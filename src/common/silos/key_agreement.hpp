// Derivation of one secret from two key pairs, and of many keys from one secret.
//
//     agree(own private, their public) = X25519 (RFC 7748)
//     derive_key(secret, context)      = HKDF-SHA256 (RFC 5869), salt = run, info = round, attempt, purpose, from, to
//
// The context names the use of a key, so that no two uses share a key: other runs, rounds, attempts, purposes and
// directions have keys of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string_view>

#include "common/randomness/openssl_ptr.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "common/silos/parties.hpp"

namespace dpreduce {

/// Run id: 32 random bytes that the coordinator draws, once a run.
using RunId = std::array<std::byte, 32>;

/// Purpose of a derived key.
struct KeyContext {
  RunId run{};
  std::uint64_t round = 0;
  std::uint32_t attempt = 0;
  std::string_view purpose;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

/// X25519 key pair. Movable, not copyable, not printable.
class AgreementKey {
 public:
  /// Returns a new key pair. Throws EntropyFailure.
  static AgreementKey generate();
  /// Key pair with this private half of 32 bytes.
  explicit AgreementKey(SecretVector<std::byte> secret);

  PublicKey public_key() const { return raw_public_key(key_.get()); }
  /// Private half, to be shared out.
  const SecretVector<std::byte>& secret() const { return secret_; }

  /// Returns the secret of 32 bytes that the owners of both keys can compute. Throws AggregationAborted if `other` is a
  /// point that gives no secret (of small order).
  SecretVector<std::byte> agree(const PublicKey& other) const;

  friend std::ostream& operator<<(std::ostream&, const AgreementKey&) = delete;

 private:
  SecretVector<std::byte> secret_;
  OpenSslPtr<evp_pkey_st> key_;
};

/// Returns whether a key pair can agree with `key` on a secret: every pair can, or none if `key` is a point of small
/// order.
bool gives_secret(const PublicKey& key);

/// Returns a key of 32 bytes. Contexts that differ anywhere give independent keys.
SecretVector<std::byte> derive_key(std::span<const std::byte> secret, const KeyContext& context);

// AES-256-GCM: sealed bytes cannot be read without the key, nor changed unnoticed.

inline constexpr std::size_t kTagBytes = 16;

/// Key that seals messages. Precondition: every message has a number of its own, which is the nonce. Message numbers
/// must not repeat under a key.
class SealingKey {
 public:
  /// Throws EntropyFailure.
  explicit SealingKey(std::span<const std::byte> key);

  /// sealed = encryption of plain, then the tag over the encryption and `associated`.
  /// Precondition (asserted): |sealed| = |plain| + kTagBytes, at most 2^31 - 1. `plain` and `sealed` may begin at the
  /// same address.
  void seal(std::uint64_t number, std::span<const std::byte> associated, std::span<const std::byte> plain,
            std::span<std::byte> sealed) const;

  /// Reverses seal(). Returns false, with zeros in `plain`, unless the same key, number and `associated` sealed these
  /// bytes.
  /// Precondition (asserted): |plain| + kTagBytes = |sealed|.
  [[nodiscard]] bool open(std::uint64_t number, std::span<const std::byte> associated,
                          std::span<const std::byte> sealed, std::span<std::byte> plain) const;

 private:
  // Takes all of `from`, and then the tag is due.
  void begin(bool seals, std::uint64_t number, std::span<const std::byte> associated, std::span<const std::byte> from,
             unsigned char* to) const;

  OpenSslPtr<evp_cipher_ctx_st> cipher_;
};

}  // namespace dpreduce
