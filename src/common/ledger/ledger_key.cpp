#include "common/ledger/ledger_key.hpp"

#include <span>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/randomness/private_file.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLargestKey = 4096;
constexpr std::string_view kKeyName = "the ledger's signing key";

// The text that separates these signatures from those of other uses, with the zero at its end.
std::vector<std::byte> signed_part(const std::string& unsigned_line) {
  std::string message("dpreduce ledger line v2");
  message.push_back('\0');
  message += unsigned_line;
  const auto bytes = std::as_bytes(std::span(message));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::filesystem::path signing_key_path(const std::filesystem::path& ledger) {
  return ledger.string() + std::string(kSigningKeyEnding);
}

std::optional<SigningKey> find_signing_key(const std::filesystem::path& ledger) {
  const std::filesystem::path path = signing_key_path(ledger);
  const auto text = read_private_file(path, kKeyName, kLargestKey);
  if (!text) return std::nullopt;
  std::optional<SigningKey> key;
  if (text->size() <= kLargestKey) key = SigningKey::from_pem(*text);
  if (!key) throw BadInput(std::string(kKeyName) + " " + path.string() + ": must hold an Ed25519 private key (PEM)");
  return key;
}

SigningKey find_or_make_signing_key(const std::filesystem::path& ledger) {
  if (std::optional<SigningKey> key = find_signing_key(ledger)) return std::move(*key);
  const std::filesystem::path path = signing_key_path(ledger);
  make_private_file(path, kKeyName, SigningKey::generate().to_pem(), ExistingFile::kWins);
  if (std::optional<SigningKey> key = find_signing_key(ledger)) return std::move(*key);
  throw BadInput(std::string(kKeyName) + " " + path.string() + ": vanished while it was made");
}

std::string with_signature(const std::string& unsigned_line, std::string_view signature) {
  DPREDUCE_ASSERT(unsigned_line.size() > 2 && unsigned_line.back() == '}');
  std::string line = unsigned_line.substr(0, unsigned_line.size() - 1);
  return line.append(R"(,"signature":")").append(signature).append("\"}");
}

std::string sign_line(const std::string& unsigned_line, const SigningKey& key) {
  return with_signature(unsigned_line, to_hex(key.sign(signed_part(unsigned_line))));
}

bool is_signed_by(const std::string& unsigned_line, std::string_view signature, const PublicKey& signer) {
  const std::optional<Signature> bytes = signature_of_hex(signature);
  return bytes && verifies(signer, signed_part(unsigned_line), *bytes);
}

}  // namespace dpreduce
