#include "dpreduce/silos/identity.hpp"

#include <cerrno>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/pem.h>
#include <unistd.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/config/file_descriptor.hpp"
#include "dpreduce/randomness/private_file.hpp"
#include "dpreduce/randomness/secure_bytes.hpp"
#include "dpreduce/silos/openssl_handles.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLargestFile = 4096;
constexpr std::string_view kHexDigits = "0123456789abcdef";

[[noreturn]] void refuse(std::string_view option, const std::filesystem::path& path, const std::string& what) {
  throw BadInput(fmt::format("{} {}: {}", option, path.string(), what));
}

[[noreturn]] void refuse_with_reason(std::string_view option, const std::filesystem::path& path, const char* what) {
  refuse(option, path, fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

// Without a passphrase: none is asked for, on no terminal.
int no_passphrase(char*, int, int, void*) {
  return 0;
}

}  // namespace

std::array<std::byte, 32> sha256(std::string_view text) {
  std::array<std::byte, 32> digest{};
  unsigned int written = 0;
  require_openssl(
      EVP_Digest(text.data(), text.size(), openssl_bytes(digest.data()), &written, EVP_sha256(), nullptr) == 1,
      "no SHA-256");
  return digest;
}

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += kHexDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kHexDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

std::optional<PublicKey> public_key_of_hex(std::string_view text) {
  PublicKey key{};
  if (text.size() != 2 * key.size()) return std::nullopt;
  for (std::size_t place = 0; place < text.size(); ++place) {
    const std::size_t digit = kHexDigits.find(text[place]);
    if (digit == std::string_view::npos) return std::nullopt;
    key[place / 2] = (key[place / 2] << 4) | static_cast<std::byte>(digit);
  }
  return key;
}

void Identity::FreeKey::operator()(evp_pkey_st* key) const noexcept {
  EVP_PKEY_free(key);
}

Identity Identity::generate() {
  SecretVector<std::byte> seed(32);
  secure_bytes(seed);
  EVP_PKEY* key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, openssl_bytes(seed.data()), seed.size());
  require_openssl(key != nullptr, "no Ed25519 key");
  return Identity(key);
}

Identity Identity::load(const std::filesystem::path& path, std::string_view option) {
  const auto text = read_private_file(path, option, kLargestFile);
  if (!text) refuse(option, path, "cannot be opened: there is no such file; dpreduce keygen makes one");
  if (text->size() > kLargestFile) refuse(option, path, "is no identity: larger than 4 KiB");
  const OpenSslPtr<BIO> bio(BIO_new_mem_buf(text->data(), static_cast<int>(text->size())));
  require_openssl(bio != nullptr, "no memory for an identity");
  Identity identity(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (identity.key_ == nullptr || EVP_PKEY_id(identity.key_.get()) != EVP_PKEY_ED25519) {
    refuse(option, path, "is no identity: must hold an Ed25519 private key (dpreduce keygen makes one)");
  }
  return identity;
}

void Identity::save_new(const std::filesystem::path& path, std::string_view option) const {
  const OpenSslPtr<BIO> bio(BIO_new(BIO_s_secmem()));
  require_openssl(
      bio != nullptr && PEM_write_bio_PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
      "an identity cannot be written as PEM");
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0 && errno == EEXIST) refuse(option, path, "is there already, and an identity is never overwritten");
  if (file.get() < 0) refuse_with_reason(option, path, "cannot be made");
  if (::write(file.get(), text, static_cast<std::size_t>(length)) != length || ::fsync(file.get()) != 0) {
    const int reason = errno;
    ::unlink(path.c_str());
    errno = reason;
    refuse_with_reason(option, path, "cannot be written");
  }
}

PublicKey Identity::public_key() const {
  PublicKey key{};
  std::size_t length = key.size();
  require_openssl(EVP_PKEY_get_raw_public_key(key_.get(), openssl_bytes(key.data()), &length) == 1, "no public key");
  return key;
}

Signature Identity::sign(std::span<const std::byte> message) const {
  const OpenSslPtr<EVP_MD_CTX> context(EVP_MD_CTX_new());
  Signature signature{};
  std::size_t length = signature.size();
  require_openssl(context != nullptr && EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
                      EVP_DigestSign(context.get(), openssl_bytes(signature.data()), &length,
                                     openssl_bytes(message.data()), message.size()) == 1 &&
                      length == signature.size(),
                  "no Ed25519 signature");
  return signature;
}

bool verifies(const PublicKey& signer, std::span<const std::byte> message, const Signature& signature) {
  const OpenSslPtr<EVP_PKEY> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, openssl_bytes(signer.data()), signer.size()));
  const OpenSslPtr<EVP_MD_CTX> context(EVP_MD_CTX_new());
  return key != nullptr && context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), openssl_bytes(signature.data()), signature.size(),
                          openssl_bytes(message.data()), message.size()) == 1;
}

}  // namespace dpreduce
