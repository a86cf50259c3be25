// Key that signs the lines of a ledger, so that a reader finds every edit.
//
// The key lies beside the ledger, "<ledger>.signing-key" (PEM, Ed25519, 0600), made with the first signed line. It
// protects the ledger from others than its owner, and has nothing to do with noise.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "common/randomness/signing_key.hpp"

namespace dpreduce {

/// The name of a key is the ledger's with this behind it.
inline constexpr std::string_view kSigningKeyEnding = ".signing-key";

std::filesystem::path signing_key_path(const std::filesystem::path& ledger);

/// The ledger's key; nullopt if there is no such file. Throws BadInput naming the file where it is no Ed25519 key, not
/// exactly 0600, another user's, or cannot be read.
std::optional<SigningKey> find_signing_key(const std::filesystem::path& ledger);

/// The ledger's key; if absent, a new one, on the disk before it is returned. Two processes that meet an absent file
/// get one and the same key. Throws as find_signing_key, and where it cannot be made; EntropyFailure.
SigningKey find_or_make_signing_key(const std::filesystem::path& ledger);

/// {...,"signature":"..."} Precondition: unsigned_line ends with "}" and has a member.
std::string with_signature(const std::string& unsigned_line, std::string_view signature);

/// The same with the key's signature of the line, in 128 hex digits.
std::string sign_line(const std::string& unsigned_line, const SigningKey& key);

/// Returns whether the owner of the key `signer` made that signature of that line.
bool is_signed_by(const std::string& unsigned_line, std::string_view signature, const PublicKey& signer);

}  // namespace dpreduce
