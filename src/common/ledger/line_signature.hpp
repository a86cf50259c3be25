// A signed line: {...} with, as its last member, the Ed25519 signature of "dpreduce ledger line v2" || 0 || {...}.
#pragma once

#include <string>
#include <string_view>

#include "common/randomness/signing_key.hpp"

namespace dpreduce {

/// {...,"signature":"..."} Precondition: unsigned_line ends with "}" and has a member.
std::string with_signature(const std::string& unsigned_line, std::string_view signature);

/// The same with the key's signature of the line, in 128 hex digits.
std::string sign_line(const std::string& unsigned_line, const SigningKey& key);

/// Whether the owner of the key made that signature of that line.
bool is_signed_by(const std::string& unsigned_line, std::string_view signature, const PublicKey& signer);

}  // namespace dpreduce
