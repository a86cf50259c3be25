#include "common/randomness/random_stream.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include <boost/endian/conversion.hpp>
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
  boost::endian::store_big_u64(bytes.data(), row);
  boost::endian::store_big_u64(bytes.data() + 8, column);
  return bytes;
}

void require_stream(bool done) {
  if (!done) throw EntropyFailure("no random stream: OpenSSL's AES-256-CTR failed; nothing was released");
}

}  // namespace

AesBlockSource::AesBlockSource(std::span<const std::byte, 32> key) : cipher_(EVP_CIPHER_CTX_new()) {
  require_stream(cipher_ != nullptr);
  require_stream(EVP_EncryptInit_ex(cipher_.get(), EVP_aes_256_ctr(), nullptr, openssl_bytes(key.data()),
                                    counter(0, 0).data()) == 1);
}

void AesBlockSource::read(std::uint64_t row, std::uint64_t first_column, std::span<RandomBlock> out) {
  require_stream(EVP_EncryptInit_ex(cipher_.get(), nullptr, nullptr, nullptr, counter(row, first_column).data()) == 1);
  while (!out.empty()) {
    const std::size_t blocks = std::min(out.size(), kZeroBytes / sizeof(RandomBlock));
    const int bytes = static_cast<int>(blocks * sizeof(RandomBlock));
    int written = 0;
    require_stream(EVP_EncryptUpdate(cipher_.get(), openssl_bytes(out.data()), &written, kZeros.data(), bytes) == 1 &&
                   written == bytes);
    out = out.subspan(blocks);
  }
}

namespace {

// The buffer starts small, for streams of a few words, and doubles up to 64 KiB.
constexpr std::size_t kFirstBufferBlocks = 16;
constexpr std::size_t kMostBufferBlocks = 4096;

}  // namespace

RandomStream::RandomStream(std::unique_ptr<BlockSource> tape) : tape_(std::move(tape)) {
  DPREDUCE_ASSERT(tape_ != nullptr);
}

std::uint64_t RandomStream::next_u64() {
  std::uint64_t word = 0;
  if (cursor_ + sizeof word <= buffer_.size() * sizeof(RandomBlock)) {
    std::memcpy(&word, buffered_bytes() + cursor_, sizeof word);
    cursor_ += sizeof word;
  } else {
    fill(std::as_writable_bytes(std::span(&word, 1)));
  }
  return word;
}

void RandomStream::fill(std::span<std::byte> out) {
  DPREDUCE_ASSERT(tape_ != nullptr);
  while (!out.empty()) {
    if (cursor_ == buffer_.size() * sizeof(RandomBlock)) refill();
    const std::size_t count = std::min(out.size(), buffer_.size() * sizeof(RandomBlock) - cursor_);
    std::memcpy(out.data(), buffered_bytes() + cursor_, count);
    cursor_ += count;
    out = out.subspan(count);
  }
}

std::uint64_t RandomStream::take_blocks(std::span<RandomBlock> out) {
  drop_buffer();
  const std::uint64_t first = reserve_blocks(out.size());
  tape_->read(0, first, out);
  return first;
}

void RandomStream::skip_blocks(std::uint64_t blocks) {
  drop_buffer();
  reserve_blocks(blocks);
}

RandomBlock RandomStream::further_digits(std::uint64_t row, std::uint64_t column) {
  DPREDUCE_ASSERT(tape_ != nullptr && row > 0 && column < next_column_);
  RandomBlock block;
  tape_->read(row, column, std::span(&block, 1));
  return block;
}

void RandomStream::refill() {
  const std::uint64_t left = std::numeric_limits<std::uint64_t>::max() - next_column_;
  const std::size_t wanted = std::clamp(2 * buffer_.size(), kFirstBufferBlocks, kMostBufferBlocks);
  const auto blocks = static_cast<std::size_t>(std::clamp<std::uint64_t>(left, 1, wanted));
  const std::uint64_t first = reserve_blocks(blocks);
  buffer_.resize(blocks);
  tape_->read(0, first, buffer_);
  cursor_ = 0;
}

// Advances next_column_ by `blocks` and returns its old value. The last column of the row stays unused, so that the
// count of blocks fits a word; a further block would repeat nothing, but a counter that wraps would repeat everything.
std::uint64_t RandomStream::reserve_blocks(std::uint64_t blocks) {
  DPREDUCE_ASSERT(tape_ != nullptr);
  if (blocks > std::numeric_limits<std::uint64_t>::max() - next_column_) {
    throw EntropyFailure("random stream exhausted: 2^64 - 1 blocks were used; start a stream of another context");
  }
  return std::exchange(next_column_, next_column_ + blocks);
}

// Blocks that are buffered and untouched are given back.
void RandomStream::drop_buffer() {
  next_column_ -= buffer_.size() - (cursor_ + sizeof(RandomBlock) - 1) / sizeof(RandomBlock);
  cleanse(buffer_.data(), buffer_.size() * sizeof(RandomBlock));
  buffer_.clear();
  cursor_ = 0;
}

void throw_not_random() {
  throw EntropyFailure("random stream repeats itself: its bytes are not random; nothing was released");
}

}  // namespace dpreduce
