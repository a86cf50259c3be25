// Who a party is: an Ed25519 key pair that it keeps over all runs.
//
// The private half stays in one file of its owner (PEM, 0600); the public half stands in the roster.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace dpreduce {

/// Of Ed25519 or X25519.
using PublicKey = std::array<std::byte, 32>;
using Signature = std::array<std::byte, 64>;

/// SHA-256 of the text.
std::array<std::byte, 32> sha256(std::string_view text);

/// 64 lower-case hex digits.
std::string to_hex(std::span<const std::byte> bytes);
/// The key of 64 hex digits; nothing for other texts.
std::optional<PublicKey> public_key_of_hex(std::string_view text);

/// Movable, not copyable, not printable.
class Identity {
 public:
  /// A new one. Errors: EntropyFailure.
  static Identity generate();

  /// From its file. Throws BadInput naming `option`, path and reason where it is no regular file of an Ed25519 private
  /// key, or where others than its owner may read or write it.
  static Identity load(const std::filesystem::path& path, std::string_view option);

  /// Writes the file, which must not exist: mode 0600, synced. Throws BadInput naming option, path and reason.
  void save_new(const std::filesystem::path& path, std::string_view option) const;

  PublicKey public_key() const;

  /// Ed25519 (RFC 8032) of the message.
  Signature sign(std::span<const std::byte> message) const;

  friend std::ostream& operator<<(std::ostream&, const Identity&) = delete;

 private:
  struct FreeKey {
    void operator()(evp_pkey_st* key) const noexcept;
  };
  explicit Identity(evp_pkey_st* key) : key_(key) {}
  std::unique_ptr<evp_pkey_st, FreeKey> key_;
};

/// Whether the owner of that identity signed that message.
bool verifies(const PublicKey& signer, std::span<const std::byte> message, const Signature& signature);

}  // namespace dpreduce
