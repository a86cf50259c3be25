#include "common/masking/identity.hpp"

#include <optional>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/randomness/private_file.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLargestIdentity = 4096;

[[noreturn]] void refuse(std::string_view option, const std::filesystem::path& path, const std::string& what) {
  throw BadInput(fmt::format("{} {}: {}", option, path.string(), what));
}

}  // namespace

std::string short_hex(const PublicKey& digest) {
  constexpr std::size_t kShownDigits = 16;
  return to_hex(digest).substr(0, kShownDigits);
}

Identity Identity::load(const std::filesystem::path& path, std::string_view option) {
  const auto text = read_private_file(path, option, kLargestIdentity);
  if (!text) refuse(option, path, "cannot be opened: there is no such file; dpreduce keygen makes one");
  if (text->size() > kLargestIdentity) refuse(option, path, "is no identity: larger than 4 KiB");
  std::optional<SigningKey> key = SigningKey::from_pem(*text);
  if (!key) refuse(option, path, "is no identity: must hold an Ed25519 private key (dpreduce keygen makes one)");
  return Identity(std::move(*key));
}

void Identity::save_new(const std::filesystem::path& path, std::string_view option) const {
  make_private_file(path, option, key_.to_pem(), ExistingFile::kRefused);
}

}  // namespace dpreduce
