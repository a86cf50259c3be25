#include "common/randomness/permute_and_flip.hpp"

#include "common/base/error.hpp"
#include "tests/common/randomness/selection_oracle.hpp"
#include "tests/common/randomness/tapes.hpp"
#include "tests/testing.hpp"

namespace dpreduce::permute_and_flip_test {

using oracle::seeded_stream;
using oracle::SelectionReal;
using oracle::stream_of;
using oracle::written_tape;

using Utilities = std::vector<std::int64_t>;

// Coin and key as reals of 64 * 6 digits; the least key among those whose coin shows heads.
std::size_t oracle_flip(BlockSource& tape, std::uint64_t first_column, std::span<const SelectionReal> decays) {
  std::optional<std::pair<SelectionReal, std::size_t>> winner;
  for (std::size_t candidate = 0; candidate < decays.size(); ++candidate) {
    SelectionReal coin = 0;
    SelectionReal key = 0;
    for (std::uint64_t row = 0; row < 6; ++row) {
      RandomBlock block;
      tape.read(row, first_column + candidate, std::span(&block, 1));
      const int place = -64 * static_cast<int>(row + 1);
      coin += ldexp(SelectionReal(block.first), place);
      key += ldexp(SelectionReal(block.second), place);
    }
    if (coin >= decays[candidate]) continue;
    if (!winner || key < winner->first) winner = {key, candidate};
  }
  return winner->second;
}

TEST(PermuteAndFlip, ChoosesWithTheOracle) {
  std::mt19937_64 random(1);
  for (const std::size_t count : {1u, 2u, 3u, 20u, 300u, 2100u}) {
    for (const SelectionRate& rate : {SelectionRate{1, 1, 0}, SelectionRate{1, 300, 0}}) {
      Utilities utilities(count);
      for (auto& utility : utilities) utility = static_cast<std::int64_t>(random() % 1000);
      const auto decays = oracle::oracle_decays(utilities, rate);
      auto tape = oracle::seeded_tape(3);
      RandomStream stream = seeded_stream(3);
      for (std::uint64_t sample = 0; sample < 10; ++sample) {
        EXPECT_EQ(permute_and_flip(stream, utilities, rate), oracle_flip(tape, sample * count, decays));
      }
    }
  }
}

TEST(PermuteAndFlip, TakesOneBlockACandidateWhateverItDecides) {
  RandomStream stream = seeded_stream(4);
  permute_and_flip(stream, Utilities(2500, 1), {1, 1, 0});
  RandomStream skipped = seeded_stream(4);
  skipped.skip_blocks(2500);
  EXPECT_EQ(stream.next_u64(), skipped.next_u64());
}

TEST(PermuteAndFlip, DoesNotChangeWhenUtilitiesAreShifted) {
  const Utilities utilities{5, 0, 3, 3, 4};
  RandomStream stream = seeded_stream(5);
  RandomStream shifted_stream = seeded_stream(5);
  Utilities shifted = utilities;
  for (auto& utility : shifted) utility += std::numeric_limits<std::int64_t>::min();
  for (int sample = 0; sample < 500; ++sample) {
    EXPECT_EQ(permute_and_flip(stream, utilities, {1, 2, 0}), permute_and_flip(shifted_stream, shifted, {1, 2, 0}));
  }
}

TEST(PermuteAndFlip, NeverTakesAWorseOneByMoreThanTwoToTheFortieth) {
  RandomStream stream = seeded_stream(6);
  const Utilities utilities{0, std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::min()};
  for (int sample = 0; sample < 1000; ++sample) EXPECT_EQ(permute_and_flip(stream, utilities, {1, 1 << 20, 0}), 1u);
  // coin 2^-64 * 0.000...1, a place that no double has, and a first key: still tails.
  RandomStream written = stream_of(written_tape({{{0, 0}, {0, 0}}, {{1, 0}, {0, 1}}, {{0, 1}, {0, 5}}}));
  EXPECT_EQ(permute_and_flip(written, Utilities{0, std::int64_t{1} << 40}, {1, 1, 0}), 1u);
}

// exp(-50) = 2^-72.1: a coin of 2^-72 and more shows tails, one of 2^-73 and less than 2^-128 more heads.
TEST(PermuteAndFlip, ReadsTheFurtherDigitsOfACoin) {
  for (const auto& [digits, choice] : {std::pair{std::uint64_t{1} << 56, 1u}, {std::uint64_t{1} << 55, 0u}}) {
    RandomStream stream = stream_of(written_tape({{{0, 0}, {0, 0}}, {{1, 0}, {digits, 0}}, {{0, 1}, {0, 5}}}));
    EXPECT_EQ(permute_and_flip(stream, Utilities{-50, 0}, {1, 1, 0}), choice);
  }
}

TEST(PermuteAndFlip, BreaksATieOfKeysByTheirFurtherDigits) {
  for (const std::uint64_t digits : {1u, 3u}) {
    RandomStream stream = stream_of(written_tape({{{0, 0}, {0, 7}},
                                                  {{0, 1}, {0, 7}},
                                                  {{1, 0}, {0, 9}},
                                                  {{1, 1}, {0, 9}},
                                                  {{2, 0}, {0, 2}},
                                                  {{2, 1}, {0, digits}}}));
    EXPECT_EQ(permute_and_flip(stream, Utilities{4, 4}, {1, 1, 0}), digits < 2 ? 1u : 0u);
  }
}

TEST(PermuteAndFlip, DigitsThatCannotBeRandomAreRefused) {
  RandomStream keys = stream_of([](std::uint64_t, std::uint64_t) { return RandomBlock{0, 0}; });
  EXPECT_THROW(permute_and_flip(keys, Utilities{4, 4}, {1, 1, 0}), EntropyFailure);
  RandomStream coins = stream_of([](std::uint64_t, std::uint64_t column) { return RandomBlock{0, column}; });
  EXPECT_THROW(permute_and_flip(coins, Utilities{0, std::int64_t{1} << 40}, {1, 1, 0}), EntropyFailure);
}

TEST(PermuteAndFlip, NoCandidatesAndInvalidRatesAreRefused) {
  RandomStream stream = seeded_stream(1);
  EXPECT_THROW(permute_and_flip(stream, Utilities{}, {1, 1, 0}), UsageError);
  EXPECT_THROW(permute_and_flip(stream, Utilities{1}, {0, 1, 0}), UsageError);
  EXPECT_THROW(permute_and_flip(stream, Utilities{1}, {1, 0, 0}), UsageError);
}

}  // namespace dpreduce::permute_and_flip_test
