#include "common/randomness/row_coins.hpp"

#include <cmath>

#include "common/base/error.hpp"
#include "common/randomness/noise_key.hpp"

namespace dpreduce {
namespace {

// floor(q 2^64): the product is exact.
std::uint64_t threshold_of(double rate) {
  DPREDUCE_ASSERT(rate > 0.0 && rate < 1.0);
  return static_cast<std::uint64_t>(std::ldexp(rate, 64));
}

RandomStream words_from(std::span<const std::byte, 32> secret, std::uint64_t first_row) {
  constexpr std::uint64_t kWordsPerBlock = 2;
  RandomStream stream = NoiseKey::from_bytes(secret).stream("row coins", {});
  stream.skip_blocks(first_row / kWordsPerBlock);
  if (first_row % kWordsPerBlock == 1) stream.next_u64();
  return stream;
}

}  // namespace

RowCoins::RowCoins(std::span<const std::byte, 32> secret, double rate, std::uint64_t first_row)
    : stream_(words_from(secret, first_row)), threshold_(threshold_of(rate)) {}

}  // namespace dpreduce
