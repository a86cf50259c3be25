#include "common/randomness/keyed_hash.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

void require_hash(bool done) {
  if (!done) throw EntropyFailure("no hash of identifiers: OpenSSL's HMAC-SHA256 failed; nothing was released");
}

}  // namespace

KeyedHash::KeyedHash(std::span<const std::byte, 32> key) {
  const OpenSslPtr<EVP_MAC> hmac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  require_hash(hmac != nullptr);
  mac_.reset(EVP_MAC_CTX_new(hmac.get()));
  require_hash(mac_ != nullptr);
  std::string digest = "SHA256";
  const std::array<OSSL_PARAM, 2> params{
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), digest.size()),
      OSSL_PARAM_construct_end()};
  require_hash(EVP_MAC_init(mac_.get(), openssl_bytes(key.data()), key.size(), params.data()) == 1);
}

RandomBlock KeyedHash::of(std::string_view name) const {
  std::array<unsigned char, 32> code{};
  std::size_t written = 0;
  require_hash(EVP_MAC_init(mac_.get(), nullptr, 0, nullptr) == 1);  // with the key that it has
  require_hash(EVP_MAC_update(mac_.get(), openssl_bytes(name.data()), name.size()) == 1);
  require_hash(EVP_MAC_final(mac_.get(), code.data(), &written, code.size()) == 1 && written == code.size());
  RandomBlock hash{};
  std::memcpy(&hash, code.data(), sizeof(hash));
  return hash;
}

namespace {

constexpr std::size_t kBlocksPerCall = std::size_t{1} << 20;

void require_digest(bool done) {
  if (!done) throw EntropyFailure("no digest of rows: OpenSSL's AES-256-ECB failed; nothing was released");
}

}  // namespace

BlockMac::BlockMac(std::span<const std::byte, 32> key) : cipher_(EVP_CIPHER_CTX_new()) {
  require_digest(cipher_ != nullptr);
  require_digest(EVP_EncryptInit_ex(cipher_.get(), EVP_aes_256_ecb(), nullptr, openssl_bytes(key.data()), nullptr) ==
                 1);
  require_digest(EVP_CIPHER_CTX_set_padding(cipher_.get(), 0) == 1);
}

void BlockMac::chain(std::span<RandomBlock> states, std::span<const RandomBlock> blocks) const {
  DPREDUCE_ASSERT(states.size() == blocks.size());
  for (std::size_t m = 0; m < states.size(); ++m) {
    states[m].first ^= blocks[m].first;
    states[m].second ^= blocks[m].second;
  }
  while (!states.empty()) {
    const auto part = states.first(std::min(states.size(), kBlocksPerCall));
    const int bytes = static_cast<int>(part.size_bytes());
    int written = 0;
    auto* text = openssl_bytes(part.data());
    require_digest(EVP_EncryptUpdate(cipher_.get(), text, &written, text, bytes) == 1 && written == bytes);
    states = states.subspan(part.size());
  }
}

}  // namespace dpreduce
