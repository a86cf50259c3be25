#include "common/silos/sealed_box.hpp"

#include <array>
#include <limits>

#include "common/randomness/openssl_handles.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kBoxKeyBytes = 32;

std::array<unsigned char, 12> nonce_of(std::uint64_t number) {
  std::array<unsigned char, 12> nonce{};
  for (std::size_t place = 0; place < 8; ++place) nonce[4 + place] = static_cast<unsigned char>(number >> (8 * place));
  return nonce;
}

bool fits_an_int(std::size_t size) {
  return size <= static_cast<std::size_t>(std::numeric_limits<int>::max());
}

}  // namespace

void SealingKey::FreeCipher::operator()(evp_cipher_ctx_st* context) const noexcept {
  EVP_CIPHER_CTX_free(context);
}

SealingKey::~SealingKey() = default;

SealingKey::SealingKey(std::span<const std::byte> key)
    : encryption_(EVP_CIPHER_CTX_new()), decryption_(EVP_CIPHER_CTX_new()) {
  DPREDUCE_ASSERT(key.size() == kBoxKeyBytes);
  require_openssl(
      encryption_ != nullptr && decryption_ != nullptr &&
          EVP_EncryptInit_ex(encryption_.get(), EVP_aes_256_gcm(), nullptr, openssl_bytes(key.data()), nullptr) == 1 &&
          EVP_DecryptInit_ex(decryption_.get(), EVP_aes_256_gcm(), nullptr, openssl_bytes(key.data()), nullptr) == 1,
      "no AES-256-GCM");
}

void SealingKey::seal(std::uint64_t number, std::span<const std::byte> associated, std::span<const std::byte> plain,
                      std::span<std::byte> sealed) const {
  DPREDUCE_ASSERT(sealed.size() == plain.size() + kTagBytes && fits_an_int(sealed.size()));
  EVP_CIPHER_CTX* cipher = encryption_.get();
  int written = 0;
  int rest = 0;
  unsigned char none = 0;
  const unsigned char* from = plain.empty() ? &none : openssl_bytes(plain.data());
  require_openssl(EVP_EncryptInit_ex(cipher, nullptr, nullptr, nullptr, nonce_of(number).data()) == 1 &&
                      EVP_EncryptUpdate(cipher, nullptr, &written, openssl_bytes(associated.data()),
                                        static_cast<int>(associated.size())) == 1 &&
                      EVP_EncryptUpdate(cipher, openssl_bytes(sealed.data()), &written, from,
                                        static_cast<int>(plain.size())) == 1 &&
                      EVP_EncryptFinal_ex(cipher, openssl_bytes(sealed.data()) + plain.size(), &rest) == 1 &&
                      EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, kTagBytes, sealed.data() + plain.size()) == 1,
                  "AES-256-GCM");
}

bool SealingKey::open(std::uint64_t number, std::span<const std::byte> associated, std::span<const std::byte> sealed,
                      std::span<std::byte> plain) const {
  DPREDUCE_ASSERT(sealed.size() == plain.size() + kTagBytes && fits_an_int(sealed.size()));
  EVP_CIPHER_CTX* cipher = decryption_.get();
  std::array<unsigned char, kTagBytes> tag{};
  const auto tag_sent = sealed.last(kTagBytes);
  for (std::size_t place = 0; place < kTagBytes; ++place) tag[place] = std::to_integer<unsigned char>(tag_sent[place]);
  int written = 0;
  int rest = 0;
  unsigned char none[kTagBytes] = {};
  unsigned char* to = plain.empty() ? none : openssl_bytes(plain.data());
  require_openssl(
      EVP_DecryptInit_ex(cipher, nullptr, nullptr, nullptr, nonce_of(number).data()) == 1 &&
          EVP_DecryptUpdate(cipher, nullptr, &written, openssl_bytes(associated.data()),
                            static_cast<int>(associated.size())) == 1 &&
          EVP_DecryptUpdate(cipher, to, &written, openssl_bytes(sealed.data()), static_cast<int>(plain.size())) == 1 &&
          EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1,
      "AES-256-GCM");
  if (EVP_DecryptFinal_ex(cipher, to + plain.size(), &rest) == 1) return true;
  cleanse(plain.data(), plain.size());
  return false;
}

}  // namespace dpreduce
