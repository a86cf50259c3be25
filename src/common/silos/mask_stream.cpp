#include "common/silos/mask_stream.hpp"

#include <algorithm>
#include <array>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kBlocksAtOnce = 1024;          // 16 KiB: stays in the first-level cache
constexpr std::size_t kPart = std::size_t{1} << 14;  // words: in the second-level cache while all masks go over them
static_assert(sizeof(RandomBlock) == 2 * sizeof(std::uint64_t));

void apply_stream(AesBlockSource& source, MaskSign sign, std::uint64_t first_word, std::span<std::uint64_t> words) {
  std::array<RandomBlock, kBlocksAtOnce> blocks;
  while (!words.empty()) {
    const std::size_t skipped = first_word % 2;
    const std::size_t now = std::min(words.size(), 2 * kBlocksAtOnce - skipped);
    source.read(0, first_word / 2, std::span(blocks).first((skipped + now + 1) / 2));
    const std::uint64_t* stream = reinterpret_cast<const std::uint64_t*>(blocks.data()) + skipped;
    if (sign == MaskSign::kAdd) {
      for (std::size_t w = 0; w < now; ++w) words[w] += stream[w];
    } else {
      for (std::size_t w = 0; w < now; ++w) words[w] -= stream[w];
    }
    words = words.subspan(now);
    first_word += now;
  }
  cleanse(blocks.data(), sizeof(blocks));
}

}  // namespace

void MaskStreams::add(std::span<const std::byte> key, MaskSign sign) {
  DPREDUCE_ASSERT(key.size() == 32);
  const std::span<const std::byte, 32> bytes(key);
  streams_.push_back({AesBlockSource(bytes), sign});
  if (!has_vector_aes()) return;
  AesSchedule schedule = expand_aes256_key(bytes);
  schedules_.push_back(schedule);
  cleanse(&schedule, sizeof(schedule));
}

void MaskStreams::apply_reference(std::uint64_t first_word, std::span<std::uint64_t> words) {
  while (!words.empty()) {
    const auto part = words.first(std::min(kPart, words.size()));
    for (Stream& stream : streams_) apply_stream(stream.blocks, stream.sign, first_word, part);
    first_word += part.size();
    words = words.subspan(part.size());
  }
}

void MaskStreams::apply(std::uint64_t first_word, std::span<std::uint64_t> words) {
  if (has_vector_aes() && first_word % 2 == 0) {
    std::vector<CounterStream> streams;
    for (std::size_t s = 0; s < streams_.size(); ++s) streams.push_back({&schedules_[s], streams_[s].sign});
    const auto whole = words.first(words.size() / kStreamStep * kStreamStep);
    apply_counter_streams(streams, first_word / 2, whole);
    first_word += whole.size();
    words = words.subspan(whole.size());
  }
  apply_reference(first_word, words);
}

}  // namespace dpreduce
