#include "common/silos/key_agreement.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <openssl/core_names.h>
#include <openssl/kdf.h>

#include "common/randomness/openssl_handles.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kAgreementKeyBytes = 32;
constexpr std::string_view kKeyDomain = "dpreduce silos v1";

void append(std::vector<std::byte>& bytes, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<std::byte>(number >> shift));
}

void append(std::vector<std::byte>& bytes, std::string_view text) {
  append(bytes, std::uint64_t{text.size()});
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
}

}  // namespace

void AgreementKey::FreeKey::operator()(evp_pkey_st* key) const noexcept {
  EVP_PKEY_free(key);
}

AgreementKey::AgreementKey(SecretVector<std::byte> secret)
    : secret_(std::move(secret)),
      key_(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, openssl_bytes(std::as_const(secret_).data()),
                                        secret_.size())) {
  require_openssl(key_ != nullptr, "no X25519 key");
}

AgreementKey AgreementKey::generate() {
  SecretVector<std::byte> secret(kAgreementKeyBytes);
  secure_bytes(secret);
  return AgreementKey(std::move(secret));
}

AgreementKey AgreementKey::of_secret(std::span<const std::byte, 32> secret) {
  return AgreementKey(SecretVector<std::byte>(secret.begin(), secret.end()));
}

PublicKey AgreementKey::public_key() const {
  PublicKey key{};
  std::size_t length = key.size();
  require_openssl(EVP_PKEY_get_raw_public_key(key_.get(), openssl_bytes(key.data()), &length) == 1, "no public key");
  return key;
}

SecretVector<std::byte> AgreementKey::agree(const PublicKey& other) const {
  const OpenSslPtr<EVP_PKEY> theirs(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, openssl_bytes(other.data()), other.size()));
  const OpenSslPtr<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new(key_.get(), nullptr));
  require_openssl(theirs != nullptr && context != nullptr && EVP_PKEY_derive_init(context.get()) == 1, "no X25519");
  SecretVector<std::byte> secret(kAgreementKeyBytes);
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
  std::vector<std::byte> info;
  append(info, kKeyDomain);
  append(info, context.round);
  append(info, context.attempt);
  append(info, context.purpose);
  append(info, context.from);
  append(info, context.to);
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
  SecretVector<std::byte> key(kAgreementKeyBytes);
  require_openssl(derivation != nullptr &&
                      EVP_KDF_derive(derivation.get(), openssl_bytes(key.data()), key.size(), parameters.data()) == 1,
                  "no HKDF-SHA256");
  return key;
}

}  // namespace dpreduce
