#include "common/randomness/noise_key.hpp"

#include <cmath>
#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "common/base/error.hpp"
#include "common/randomness/signing_key.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kKeyBytes = 32;

// The text that separates one use from another; none is a prefix of another, thanks to the zero at its end.
template <std::size_t length>
std::string domain(const char (&text)[length]) {
  return {text, length};
}

// In 8 bytes, little-endian as this machine is (random_stream.cpp).
void append(std::string& message, std::uint64_t number) {
  message.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

NoiseKey NoiseKey::from_entropy(const EntropySource& source) {
  SecretVector<std::byte> bytes(kKeyBytes);
  secure_bytes(bytes, source);
  return NoiseKey(std::move(bytes));
}

NoiseKey NoiseKey::from_seed(std::uint64_t seed) {
  std::string message = domain("dpreduce noise key from seed v1");
  append(message, seed);
  return from_bytes(sha256(message));
}

NoiseKey NoiseKey::from_bytes(std::span<const std::byte, 32> bytes) {
  return NoiseKey(SecretVector<std::byte>(bytes.begin(), bytes.end()));
}

AesBlockSource NoiseKey::tape(std::string_view purpose, std::span<const std::byte> context) const {
  DPREDUCE_ASSERT(bytes_.size() == kKeyBytes);
  std::string message = domain("dpreduce stream v1");
  for (const auto part : {purpose, std::string_view(reinterpret_cast<const char*>(context.data()), context.size())}) {
    append(message, part.size());
    message += part;
  }
  SecretVector<std::byte> stream_key(kKeyBytes);  // HMAC-SHA256(key, message)
  unsigned int written = 0;
  if (HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()), openssl_bytes(message.data()), message.size(),
           openssl_bytes(stream_key.data()), &written) == nullptr ||
      written != kKeyBytes) {
    throw EntropyFailure("no random stream: OpenSSL's HMAC-SHA256 failed; nothing was released");
  }
  return AesBlockSource(std::span<const std::byte, kKeyBytes>(stream_key));
}

RandomStream NoiseKey::stream(std::string_view purpose, std::span<const std::byte> context) const {
  return RandomStream(std::make_unique<AesBlockSource>(tape(purpose, context)));
}

namespace {

// floor(q 2^64): the product is exact.
std::uint64_t threshold_of(double rate) {
  DPREDUCE_ASSERT(rate > 0.0 && rate < 1.0);
  return static_cast<std::uint64_t>(std::ldexp(rate, 64));
}

constexpr std::string_view kRowCoins = "row coins";
constexpr std::uint64_t kWordsPerBlock = 2;
constexpr std::size_t kBlocksAhead = 16;  // units' places mostly rise, by little

RandomStream words_from(std::span<const std::byte, 32> secret, std::uint64_t first_row) {
  RandomStream stream = NoiseKey::from_bytes(secret).stream(kRowCoins, {});
  stream.skip_blocks(first_row / kWordsPerBlock);
  if (first_row % kWordsPerBlock == 1) stream.next_u64();
  return stream;
}

}  // namespace

RowCoins::RowCoins(std::span<const std::byte, 32> secret, double rate, std::uint64_t first_row)
    : stream_(words_from(secret, first_row)), threshold_(threshold_of(rate)) {}

std::vector<char> RowSample::drawn_units(std::span<const std::uint64_t> first_rows) const {
  AesBlockSource tape = NoiseKey::from_bytes(std::span<const std::byte, 32>(secret)).tape(kRowCoins, {});
  const std::uint64_t threshold = threshold_of(rate);
  SecretVector<RandomBlock> blocks(kBlocksAhead);
  std::uint64_t begin = 0;  // of the blocks that were read last
  std::vector<char> drawn;
  drawn.reserve(first_rows.size());
  for (const std::uint64_t place : first_rows) {
    const std::uint64_t block = place / kWordsPerBlock;
    if (drawn.empty() || block - begin >= blocks.size()) {
      begin = block;
      tape.read(0, begin, blocks);
    }
    const auto& [first, second] = blocks[block - begin];
    drawn.push_back((place % kWordsPerBlock == 0 ? first : second) < threshold ? 1 : 0);
  }
  return drawn;
}

}  // namespace dpreduce
