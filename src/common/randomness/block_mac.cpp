#include "common/randomness/block_mac.hpp"

#include <algorithm>

#include <openssl/evp.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kBlocksPerCall = std::size_t{1} << 20;

void require_digest(bool done) {
  if (!done) throw EntropyFailure("no digest of rows: OpenSSL's AES-256-ECB failed; nothing was released");
}

}  // namespace

BlockMac::BlockMac(std::span<const std::byte, 32> key) : cipher_(EVP_CIPHER_CTX_new()) {
  require_digest(cipher_ != nullptr);
  require_digest(EVP_EncryptInit_ex(cipher_.get(), EVP_aes_256_ecb(), nullptr,
                                    reinterpret_cast<const unsigned char*>(key.data()), nullptr) == 1);
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
    auto* text = reinterpret_cast<unsigned char*>(part.data());
    require_digest(EVP_EncryptUpdate(cipher_.get(), text, &written, text, bytes) == 1 && written == bytes);
    states = states.subspan(part.size());
  }
}

void BlockMac::FreeCipher::operator()(evp_cipher_ctx_st* context) const noexcept {
  EVP_CIPHER_CTX_free(context);
}

}  // namespace dpreduce
