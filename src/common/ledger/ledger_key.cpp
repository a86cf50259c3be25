#include "dpreduce/ledger/ledger_key.hpp"

#include <string_view>
#include <utility>

#include "dpreduce/base/error.hpp"
#include "dpreduce/randomness/private_file.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLargestFile = 4096;
constexpr std::string_view kWhat = "the ledger's signing key";

}  // namespace

std::filesystem::path signing_key_path(const std::filesystem::path& ledger) {
  return ledger.string() + ".signing-key";
}

std::optional<SigningKey> find_signing_key(const std::filesystem::path& ledger) {
  const std::filesystem::path path = signing_key_path(ledger);
  const auto text = read_private_file(path, kWhat, kLargestFile);
  if (!text) return std::nullopt;
  std::optional<SigningKey> key;
  if (text->size() <= kLargestFile) key = SigningKey::from_pem(*text);
  if (!key) throw BadInput(std::string(kWhat) + " " + path.string() + ": must hold an Ed25519 private key (PEM)");
  return key;
}

SigningKey find_or_make_signing_key(const std::filesystem::path& ledger) {
  if (std::optional<SigningKey> key = find_signing_key(ledger)) return std::move(*key);
  const std::filesystem::path path = signing_key_path(ledger);
  make_private_file(path, kWhat, SigningKey::generate().to_pem(), ExistingFile::kWins);
  if (std::optional<SigningKey> key = find_signing_key(ledger)) return std::move(*key);
  throw BadInput(std::string(kWhat) + " " + path.string() + ": vanished while it was made");
}

}  // namespace dpreduce
