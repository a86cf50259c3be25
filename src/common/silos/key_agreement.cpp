#include "common/silos/key_agreement.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <boost/endian/conversion.hpp>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include "common/silos/payload.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kSiloKeyBytes = 32;
constexpr std::string_view kKeyDomain = "dpreduce silos v1";

std::array<unsigned char, 12> nonce_of(std::uint64_t number) {
  std::array<unsigned char, 12> nonce{};
  boost::endian::store_little_u64(&nonce[4], number);
  return nonce;
}

bool fits_an_int(std::size_t size) {
  return size <= static_cast<std::size_t>(std::numeric_limits<int>::max());
}

}  // namespace

AgreementKey::AgreementKey(SecretVector<std::byte> secret)
    : secret_(std::move(secret)),
      key_(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, openssl_bytes(std::as_const(secret_).data()),
                                        secret_.size())) {
  require_openssl(key_ != nullptr, "no X25519 key");
}

AgreementKey AgreementKey::generate() {
  SecretVector<std::byte> secret(kSiloKeyBytes);
  secure_bytes(secret);
  return AgreementKey(std::move(secret));
}

SecretVector<std::byte> AgreementKey::agree(const PublicKey& other) const {
  const OpenSslPtr<EVP_PKEY> theirs(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, openssl_bytes(other.data()), other.size()));
  const OpenSslPtr<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new(key_.get(), nullptr));
  require_openssl(theirs != nullptr && context != nullptr && EVP_PKEY_derive_init(context.get()) == 1, "no X25519");
  SecretVector<std::byte> secret(kSiloKeyBytes);
  std::size_t length = secret.size();
  if (EVP_PKEY_derive_set_peer(context.get(), theirs.get()) != 1 ||
      EVP_PKEY_derive(context.get(), openssl_bytes(secret.data()), &length) != 1 || length != secret.size()) {
    throw AggregationAborted("a public key of another party gives no shared secret");
  }
  return secret;
}

bool gives_secret(const PublicKey& key) {
  static const AgreementKey any = AgreementKey::generate();
  try {
    any.agree(key);
    return true;
  } catch (const AggregationAborted&) {
    return false;
  }
}

SecretVector<std::byte> derive_key(std::span<const std::byte> secret, const KeyContext& context) {
  PayloadWriter writer;
  writer.u64(kKeyDomain.size()).text(kKeyDomain).u64(context.round).u64(context.attempt);
  writer.u64(context.purpose.size()).text(context.purpose).u64(context.from).u64(context.to);
  const std::vector<std::byte> info = writer.take();
  // Fetched once: fetching takes longer than a derivation, and each pair of neighbors needs several.
  static const OpenSslPtr<EVP_KDF> hkdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const OpenSslPtr<EVP_KDF_CTX> derivation(EVP_KDF_CTX_new(hkdf.get()));
  const auto octets = [](const char* name, std::span<const std::byte> bytes) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<std::byte*>(bytes.data()), bytes.size());
  };
  std::string digest = "SHA256";
  const std::array parameters{OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
                              octets(OSSL_KDF_PARAM_SALT, context.run), octets(OSSL_KDF_PARAM_KEY, secret),
                              octets(OSSL_KDF_PARAM_INFO, info), OSSL_PARAM_construct_end()};
  SecretVector<std::byte> key(kSiloKeyBytes);
  require_openssl(derivation != nullptr &&
                      EVP_KDF_derive(derivation.get(), openssl_bytes(key.data()), key.size(), parameters.data()) == 1,
                  "no HKDF-SHA256");
  return key;
}

SealingKey::SealingKey(std::span<const std::byte> key) : cipher_(EVP_CIPHER_CTX_new()) {
  DPREDUCE_ASSERT(key.size() == kSiloKeyBytes);
  require_openssl(cipher_ != nullptr && EVP_EncryptInit_ex(cipher_.get(), EVP_aes_256_gcm(), nullptr,
                                                           openssl_bytes(key.data()), nullptr) == 1,
                  "no AES-256-GCM");
}

void SealingKey::begin(bool seals, std::uint64_t number, std::span<const std::byte> associated,
                       std::span<const std::byte> from, unsigned char* to) const {
  int written = 0;
  const unsigned char none = 0;
  require_openssl(
      EVP_CipherInit_ex(cipher_.get(), nullptr, nullptr, nullptr, nonce_of(number).data(), seals ? 1 : 0) == 1 &&
          EVP_CipherUpdate(cipher_.get(), nullptr, &written, openssl_bytes(associated.data()),
                           static_cast<int>(associated.size())) == 1 &&
          EVP_CipherUpdate(cipher_.get(), to, &written, from.empty() ? &none : openssl_bytes(from.data()),
                           static_cast<int>(from.size())) == 1,
      "AES-256-GCM");
}

void SealingKey::seal(std::uint64_t number, std::span<const std::byte> associated, std::span<const std::byte> plain,
                      std::span<std::byte> sealed) const {
  DPREDUCE_ASSERT(sealed.size() == plain.size() + kTagBytes && fits_an_int(sealed.size()));
  unsigned char* const tag = openssl_bytes(sealed.data()) + plain.size();
  int rest = 0;
  begin(true, number, associated, plain, openssl_bytes(sealed.data()));
  require_openssl(EVP_CipherFinal_ex(cipher_.get(), tag, &rest) == 1 &&
                      EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag) == 1,
                  "AES-256-GCM");
}

bool SealingKey::open(std::uint64_t number, std::span<const std::byte> associated, std::span<const std::byte> sealed,
                      std::span<std::byte> plain) const {
  DPREDUCE_ASSERT(sealed.size() == plain.size() + kTagBytes && fits_an_int(sealed.size()));
  std::array<std::byte, kTagBytes> tag{};
  std::ranges::copy(sealed.last(kTagBytes), tag.begin());
  int rest = 0;
  unsigned char none[kTagBytes] = {};
  unsigned char* const to = plain.empty() ? none : openssl_bytes(plain.data());
  begin(false, number, associated, sealed.first(plain.size()), to);
  require_openssl(EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1, "AES-256-GCM");
  if (EVP_CipherFinal_ex(cipher_.get(), to + plain.size(), &rest) == 1) return true;
  cleanse(plain.data(), plain.size());
  return false;
}

}  // namespace dpreduce
