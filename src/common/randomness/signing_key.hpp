// An Ed25519 key pair (RFC 8032): identities of parties, and the key of a ledger.
#pragma once

#include <array>
#include <cstddef>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/randomness/openssl_ptr.hpp"
#include "common/randomness/secure_bytes.hpp"

namespace dpreduce {

/// A public key of Ed25519 or X25519.
using PublicKey = std::array<std::byte, 32>;
using Signature = std::array<std::byte, 64>;

std::array<std::byte, 32> sha256(std::span<const std::byte> bytes);
std::array<std::byte, 32> sha256(std::string_view text);

/// Lower-case hex digits, two a byte.
std::string to_hex(std::span<const std::byte> bytes);
/// The key of 64 lower-case hex digits, the signature of 128; nothing for other texts.
std::optional<PublicKey> public_key_of_hex(std::string_view text);
std::optional<Signature> signature_of_hex(std::string_view text);

/// The public half of a key of Ed25519 or X25519.
PublicKey raw_public_key(evp_pkey_st* key);

/// Movable, not copyable, not printable.
class SigningKey {
 public:
  /// A new one. Throws EntropyFailure.
  static SigningKey generate();

  /// The key of a PEM text without a passphrase; nothing where it holds no Ed25519 private key.
  static std::optional<SigningKey> from_pem(std::span<const std::byte> text);
  SecretVector<std::byte> to_pem() const;

  PublicKey public_key() const { return raw_public_key(key_.get()); }

  /// Ed25519 of the message.
  Signature sign(std::span<const std::byte> message) const;

  /// For a certificate of TLS. It stays this object's.
  evp_pkey_st* openssl_key() const { return key_.get(); }

  friend std::ostream& operator<<(std::ostream&, const SigningKey&) = delete;

 private:
  explicit SigningKey(evp_pkey_st* key) : key_(key) {}
  OpenSslPtr<evp_pkey_st> key_;
};

/// Returns whether the owner of that key signed that message.
bool verifies(const PublicKey& signer, std::span<const std::byte> message, const Signature& signature);

}  // namespace dpreduce
