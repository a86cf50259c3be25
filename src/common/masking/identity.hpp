// Who a party is: an Ed25519 key pair that it keeps over all runs.
//
// The private half stays in one file of its owner (PEM, 0600); the public half stands in the roster.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/randomness/signing_key.hpp"

namespace dpreduce {

/// The first digits of a key or digest in hex: enough for people to compare.
std::string short_hex(const PublicKey& digest);

/// Movable, not copyable, not printable.
class Identity {
 public:
  /// A new one. Throws EntropyFailure.
  static Identity generate() { return Identity(SigningKey::generate()); }

  /// From its file. Throws BadInput naming `option`, path and reason where it is no regular file of an Ed25519 private
  /// key, of another user, or where its permissions are not exactly 0600.
  static Identity load(const std::filesystem::path& path, std::string_view option);

  /// Writes the file, which must not exist: mode 0600, synced. Throws BadInput naming option, path and reason.
  void save_new(const std::filesystem::path& path, std::string_view option) const;

  PublicKey public_key() const { return key_.public_key(); }
  const SigningKey& key() const { return key_; }

  /// Ed25519 (RFC 8032) of the message.
  Signature sign(std::span<const std::byte> message) const { return key_.sign(message); }

  friend std::ostream& operator<<(std::ostream&, const Identity&) = delete;

 private:
  explicit Identity(SigningKey key) : key_(std::move(key)) {}
  SigningKey key_;
};

}  // namespace dpreduce
