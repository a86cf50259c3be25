#include "dpreduce/silos/mask_stream.hpp"

#include <algorithm>
#include <array>

#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kBlocksAtOnce = 1024;  // 16 KiB: stays in the first-level cache

std::span<const std::byte, 32> of_32_bytes(std::span<const std::byte> key) {
  DPREDUCE_ASSERT(key.size() == 32);
  return std::span<const std::byte, 32>(key);
}

}  // namespace

MaskStream::MaskStream(std::span<const std::byte> key, MaskSign sign) : blocks_(of_32_bytes(key)), sign_(sign) {}

void MaskStream::apply(std::uint64_t first_word, std::span<std::uint64_t> words) {
  std::array<RandomBlock, kBlocksAtOnce> blocks;
  std::uint64_t next = first_word;
  while (!words.empty()) {
    const std::size_t skipped = next % 2;
    const std::size_t now = std::min(words.size(), 2 * kBlocksAtOnce - skipped);
    blocks_.read(0, next / 2, std::span(blocks).first((skipped + now + 1) / 2));
    const std::uint64_t* stream = reinterpret_cast<const std::uint64_t*>(blocks.data()) + skipped;
    static_assert(sizeof(RandomBlock) == 2 * sizeof(std::uint64_t));
    if (sign_ == MaskSign::kAdd) {
      for (std::size_t w = 0; w < now; ++w) words[w] += stream[w];
    } else {
      for (std::size_t w = 0; w < now; ++w) words[w] -= stream[w];
    }
    words = words.subspan(now);
    next += now;
  }
  cleanse(blocks.data(), sizeof(blocks));
}

}  // namespace dpreduce
