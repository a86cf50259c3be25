#include "common/randomness/signing_key.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <openssl/pem.h>

namespace dpreduce {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// Bytes before the 32 bytes of an Ed25519 private key in PKCS #8 (RFC 8410, section 7). Read here, since OpenSSL's own
// reader tries all kinds of keys in turn, for half a millisecond.
constexpr std::array<unsigned char, 16> kPrefix{0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                                                0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};
constexpr std::size_t kRawBytes = 32;

template <std::size_t n>
std::optional<std::array<std::byte, n>> bytes_of_hex(std::string_view text) {
  std::array<std::byte, n> bytes{};
  if (text.size() != 2 * n) return std::nullopt;
  for (std::size_t place = 0; place < text.size(); ++place) {
    const std::size_t digit = kHexDigits.find(text[place]);
    if (digit == std::string_view::npos) return std::nullopt;
    bytes[place / 2] = (bytes[place / 2] << 4) | static_cast<std::byte>(digit);
  }
  return bytes;
}

}  // namespace

std::array<std::byte, 32> sha256(std::string_view text) {
  return sha256(std::as_bytes(std::span(text)));
}

std::array<std::byte, 32> sha256(std::span<const std::byte> bytes) {
  std::array<std::byte, 32> digest{};
  unsigned int written = 0;
  require_openssl(
      EVP_Digest(bytes.data(), bytes.size(), openssl_bytes(digest.data()), &written, EVP_sha256(), nullptr) == 1,
      "no SHA-256");
  return digest;
}

std::string to_hex(std::span<const std::byte> bytes) {
  return fmt::format("{:02x}", fmt::join(std::span(openssl_bytes(bytes.data()), bytes.size()), ""));
}

std::optional<PublicKey> public_key_of_hex(std::string_view text) {
  return bytes_of_hex<32>(text);
}

std::optional<Signature> signature_of_hex(std::string_view text) {
  return bytes_of_hex<64>(text);
}

SigningKey SigningKey::generate() {
  SecretVector<std::byte> seed(32);
  secure_bytes(seed);
  EVP_PKEY* key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, openssl_bytes(seed.data()), seed.size());
  require_openssl(key != nullptr, "no Ed25519 key");
  return SigningKey(key);
}

std::optional<SigningKey> SigningKey::from_pem(std::span<const std::byte> text) {
  const OpenSslPtr<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  require_openssl(bio != nullptr, "no memory for a key");
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* der = nullptr;
  long length = 0;
  if (PEM_read_bio(bio.get(), &name, &header, &der, &length) != 1) return std::nullopt;
  const bool is_key = std::string_view(name) == "PRIVATE KEY" && *header == '\0' &&
                      length == static_cast<long>(kPrefix.size() + kRawBytes) &&
                      std::equal(kPrefix.begin(), kPrefix.end(), der);
  SigningKey key(is_key ? EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, der + kPrefix.size(), kRawBytes)
                        : nullptr);
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_clear_free(der, static_cast<std::size_t>(length));
  if (key.key_ == nullptr) return std::nullopt;
  return key;
}

SecretVector<std::byte> SigningKey::to_pem() const {
  const OpenSslPtr<BIO> bio(BIO_new(BIO_s_secmem()));
  require_openssl(
      bio != nullptr && PEM_write_bio_PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
      "a key cannot be written as PEM");
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  const auto bytes = std::as_bytes(std::span(text, static_cast<std::size_t>(length)));
  return {bytes.begin(), bytes.end()};
}

PublicKey raw_public_key(evp_pkey_st* key) {
  PublicKey raw{};
  std::size_t length = raw.size();
  require_openssl(EVP_PKEY_get_raw_public_key(key, openssl_bytes(raw.data()), &length) == 1, "no public key");
  return raw;
}

Signature SigningKey::sign(std::span<const std::byte> message) const {
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
