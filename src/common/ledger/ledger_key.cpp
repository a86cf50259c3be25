#include "common/ledger/ledger_key.hpp"

#include <string_view>
#include <utility>

#include "common/base/error.hpp"
#include "common/randomness/private_file.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLargestKey = 4096;
constexpr std::string_view kKeyName = "the ledger's signing key";

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

}  // namespace dpreduce
