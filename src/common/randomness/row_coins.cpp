#include "common/randomness/row_coins.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "common/base/error.hpp"
#include "common/randomness/noise_key.hpp"

namespace dpreduce {
namespace {

// floor(q 2^64): the product is exact.
std::uint64_t threshold_of(double rate) {
  DPREDUCE_ASSERT(rate > 0.0 && rate < 1.0);
  return static_cast<std::uint64_t>(std::ldexp(rate, 64));
}

constexpr std::uint64_t kWordsPerBlock = 2;
// Words that are read and thrown away sooner than a stream is begun anew.
constexpr std::uint64_t kFarAhead = 4096;

RandomStream words_from(std::span<const std::byte, 32> secret, std::uint64_t first_row) {
  RandomStream stream = NoiseKey::from_bytes(secret).stream("row coins", {});
  stream.skip_blocks(first_row / kWordsPerBlock);
  if (first_row % kWordsPerBlock == 1) stream.next_u64();
  return stream;
}

}  // namespace

RowCoins::RowCoins(std::span<const std::byte, 32> secret, double rate, std::uint64_t first_row)
    : stream_(words_from(secret, first_row)), threshold_(threshold_of(rate)) {}

std::vector<char> RowSample::drawn_units(std::span<const std::uint64_t> first_rows) const {
  std::vector<std::size_t> by_place(first_rows.size());
  std::iota(by_place.begin(), by_place.end(), std::size_t{0});
  std::sort(by_place.begin(), by_place.end(),
            [&](std::size_t a, std::size_t b) { return first_rows[a] < first_rows[b]; });
  std::vector<char> drawn(first_rows.size());
  std::optional<RowCoins> coins;
  std::uint64_t next = 0;  // whose coin comes next
  char last = 0;           // the coin before it
  for (const std::size_t unit : by_place) {
    const std::uint64_t place = first_rows[unit];
    if (coins && place + 1 == next) {  // rows of one unit who are numbered one by one
      drawn[unit] = last;
      continue;
    }
    if (!coins || place - next > kFarAhead) {
      coins.emplace(std::span<const std::byte, 32>(secret), rate, place);
      next = place;
    }
    for (; next < place; ++next) coins->next();
    last = coins->next() ? 1 : 0;
    drawn[unit] = last;
    ++next;
  }
  return drawn;
}

}  // namespace dpreduce
