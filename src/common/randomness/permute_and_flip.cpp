// The result is the candidate with the least key among those whose coin C_i < exp(-gamma d_i): sorting independent
// uniform reals is a uniform permutation. So candidates can be visited as they come, and only those whose key beats
// the best so far toss their coin.
#include "common/randomness/permute_and_flip.hpp"

#include <algorithm>
#include <optional>

#include "common/base/error.hpp"
#include "common/randomness/exponential_decay.hpp"

namespace dpreduce {
namespace {

// A real with 64 digits a row is not random if it is undecided after so many.
constexpr std::uint64_t kMostRows = 32;

[[noreturn]] void refuse_digits() {
  throw EntropyFailure("random digits of a private selection repeat: they are not random; nothing was selected");
}

struct Contender {
  std::size_t candidate;
  std::uint64_t column;
  std::uint64_t key;  // the leading 64 digits
};

// [key of one < key of other]
bool comes_before(RandomStream& stream, const Contender& one, const Contender& other) {
  if (one.key != other.key) return one.key < other.key;
  for (std::uint64_t row = 1; row < kMostRows; ++row) {
    const std::uint64_t digits = stream.further_digits(row, one.column).second;
    const std::uint64_t other_digits = stream.further_digits(row, other.column).second;
    if (digits != other_digits) return digits < other_digits;
  }
  refuse_digits();
}

// [C < exp(-gamma d)] as far as 53 digits of C and a double tell: 2^-x is known to ln 2 * 7u * 100 + 10u < 500u where
// x <= 100, and beyond that it and its estimate are below 2^-99.
std::optional<bool> quick_verdict(const ExponentialDecay& decay, std::uint64_t distance, std::uint64_t coin) {
  constexpr double kRelative = 0x1p-43;
  constexpr double kAbsolute = 0x1p-98;
  const double halvings = decay.halvings(distance);
  const double estimate = power_of_half(halvings < kMostHalvings ? halvings : kMostHalvings);
  const auto digits = static_cast<double>(coin >> 11);
  if ((digits + 1) * 0x1p-53 <= estimate * (1 - kRelative) - kAbsolute) return true;
  if (digits * 0x1p-53 >= estimate * (1 + kRelative) + kAbsolute) return false;
  return std::nullopt;
}

// [C < exp(-gamma d)] by integers, with ever more digits of C.
bool exact_verdict(RandomStream& stream, const ExponentialDecay& decay, std::uint64_t distance, std::uint64_t column,
                   std::uint64_t leading) {
  BigInteger coin = leading;
  for (std::uint64_t rows = 1;; ++rows) {
    const auto bits = static_cast<unsigned>(64 * rows);
    const IntegerBounds heads = decay.bounds(distance, bits);
    if (coin < heads.lower) return true;
    if (coin >= heads.upper) return false;
    if (rows == kMostRows) refuse_digits();
    coin = (coin << 64) + stream.further_digits(rows, column).first;
  }
}

}  // namespace

std::size_t permute_and_flip(RandomStream& stream, std::span<const std::int64_t> utilities, const SelectionRate& rate) {
  constexpr std::size_t kChunkBlocks = 2048;  // 32 KiB
  const ExponentialDecay decay(rate);
  if (utilities.empty()) throw UsageError("private selection from no candidates: give at least one utility");
  const std::int64_t best = *std::max_element(utilities.begin(), utilities.end());
  const bool may_decide_quickly = can_decide_by_doubles();

  SecretVector<RandomBlock> chunk(std::min(utilities.size(), kChunkBlocks));
  std::optional<Contender> winner;
  for (std::size_t first = 0; first < utilities.size(); first += chunk.size()) {
    const auto blocks = std::span(chunk).first(std::min(chunk.size(), utilities.size() - first));
    const std::uint64_t column = stream.take_blocks(blocks);
    for (std::size_t place = 0; place < blocks.size(); ++place) {
      const Contender contender{first + place, column + place, blocks[place].second};
      if (winner && !comes_before(stream, contender, *winner)) continue;
      const std::uint64_t distance =
          static_cast<std::uint64_t>(best) - static_cast<std::uint64_t>(utilities[contender.candidate]);
      const std::uint64_t coin = blocks[place].first;
      std::optional<bool> heads;
      if (may_decide_quickly) heads = quick_verdict(decay, distance, coin);
      if (!heads) heads = exact_verdict(stream, decay, distance, contender.column, coin);
      if (*heads) winner = contender;
    }
  }
  DPREDUCE_ASSERT(winner.has_value());  // the best candidate's coin always shows heads
  return winner->candidate;
}

}  // namespace dpreduce
