// From two key pairs to one secret, and from one secret to many keys.
//
//     agree(own private, their public) = X25519 (RFC 7748)
//     derive_key(secret, context)      = HKDF-SHA256 (RFC 5869), salt = run, info = round, attempt, purpose, from, to
//
// The context says what a key is for, so that no two uses share one: other runs, rounds, purposes and directions have
// keys of their own.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string_view>

#include "common/randomness/secure_bytes.hpp"
#include "common/silos/parties.hpp"

namespace dpreduce {

/// 32 random bytes of the coordinator's, one choice a run.
using RunId = std::array<std::byte, 32>;

/// What a derived key is for.
struct KeyContext {
  RunId run{};
  std::uint64_t round = 0;
  std::uint32_t attempt = 0;
  std::string_view purpose;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

/// An X25519 key pair. Movable, not copyable, not printable.
class AgreementKey {
 public:
  /// A new one. Throws EntropyFailure.
  static AgreementKey generate();
  /// The pair of this private half.
  static AgreementKey of_secret(std::span<const std::byte, 32> secret);

  PublicKey public_key() const;
  /// The private half, to be shared out.
  const SecretVector<std::byte>& secret() const { return secret_; }

  /// 32 bytes that the owners of both keys can compute. Throws AggregationAborted where `other` is no point that gives
  /// one (of small order).
  SecretVector<std::byte> agree(const PublicKey& other) const;

  friend std::ostream& operator<<(std::ostream&, const AgreementKey&) = delete;

 private:
  struct FreeKey {
    void operator()(evp_pkey_st* key) const noexcept;
  };
  explicit AgreementKey(SecretVector<std::byte> secret);
  SecretVector<std::byte> secret_;
  std::unique_ptr<evp_pkey_st, FreeKey> key_;
};

/// Returns where a key pair agrees with that key on a secret: for all pairs, or, of a point of small order, for none.
bool gives_secret(const PublicKey& key);

/// 32 bytes; contexts that differ anywhere give independent keys.
SecretVector<std::byte> derive_key(std::span<const std::byte> secret, const KeyContext& context);

}  // namespace dpreduce
