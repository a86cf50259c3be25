#include "common/randomness/block_source.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <openssl/evp.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks are read as little-endian words");
static_assert(sizeof(RandomBlock) == 16);

// CTR mode adds its key stream to the input; adding to zeros yields the key stream.
constexpr std::size_t kZeroBytes = std::size_t{1} << 16;
alignas(64) constexpr std::array<unsigned char, kZeroBytes> kZeros{};

std::array<unsigned char, 16> counter(std::uint64_t row, std::uint64_t column) {
  std::array<unsigned char, 16> bytes;
  for (std::size_t place = 0; place < 8; ++place) {
    bytes[7 - place] = static_cast<unsigned char>(row >> (8 * place));
    bytes[15 - place] = static_cast<unsigned char>(column >> (8 * place));
  }
  return bytes;
}

void require_stream(bool done) {
  if (!done) throw EntropyFailure("no random stream: OpenSSL's AES-256-CTR failed; nothing was released");
}

}  // namespace

AesBlockSource::AesBlockSource(std::span<const std::byte, 32> key) : cipher_(EVP_CIPHER_CTX_new()) {
  require_stream(cipher_ != nullptr);
  require_stream(EVP_EncryptInit_ex(cipher_.get(), EVP_aes_256_ctr(), nullptr,
                                    reinterpret_cast<const unsigned char*>(key.data()), counter(0, 0).data()) == 1);
}

void AesBlockSource::read(std::uint64_t row, std::uint64_t first_column, std::span<RandomBlock> out) {
  require_stream(EVP_EncryptInit_ex(cipher_.get(), nullptr, nullptr, nullptr, counter(row, first_column).data()) == 1);
  while (!out.empty()) {
    const std::size_t blocks = std::min(out.size(), kZeroBytes / sizeof(RandomBlock));
    const int bytes = static_cast<int>(blocks * sizeof(RandomBlock));
    int written = 0;
    require_stream(EVP_EncryptUpdate(cipher_.get(), reinterpret_cast<unsigned char*>(out.data()), &written,
                                     kZeros.data(), bytes) == 1 &&
                   written == bytes);
    out = out.subspan(blocks);
  }
}

}  // namespace dpreduce
