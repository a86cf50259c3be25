#include "common/randomness/random_stream.hpp"

#include <type_traits>

#include "common/base/error.hpp"
#include "tests/common/randomness/tapes.hpp"
#include "tests/testing.hpp"

namespace dpreduce::random_stream_test {

using oracle::seeded_stream;
using oracle::seeded_tape;
using oracle::stream_of;

static_assert(!std::is_copy_constructible_v<RandomStream> && !std::is_copy_assignable_v<RandomStream>);
static_assert(std::is_nothrow_move_constructible_v<RandomStream>);

// Word w of the tape's row 0.
RandomStream counting_stream() {
  return stream_of([](std::uint64_t row, std::uint64_t column) {
    return RandomBlock{1000000 * row + 2 * column, 1000000 * row + 2 * column + 1};
  });
}

TEST(RandomStream, WordsAreTheTapeFromLeftToRight) {
  RandomStream stream = counting_stream();
  for (std::uint64_t word = 0; word < 50000; ++word) ASSERT_EQ(stream.next_u64(), word);
}

TEST(RandomStream, BytesAreTheLittleEndianBytesOfTheWords) {
  AesBlockSource tape = seeded_tape(5);
  std::vector<RandomBlock> blocks(9000);
  tape.read(0, 0, blocks);
  RandomStream stream = seeded_stream(5);
  std::vector<std::byte> bytes(blocks.size() * sizeof(RandomBlock));
  std::size_t done = 0;
  for (std::size_t step = 1; done < bytes.size(); step = step * 3 + 1) {
    const std::size_t count = std::min(step, bytes.size() - done);
    stream.fill(std::span(bytes).subspan(done, count));
    done += count;
  }
  EXPECT_EQ(std::memcmp(bytes.data(), blocks.data(), bytes.size()), 0);
}

TEST(RandomStream, WordAfterThreeBytesBeginsAtTheFourth) {
  RandomStream words = seeded_stream(5);
  const std::uint64_t first = words.next_u64();
  const std::uint64_t second = words.next_u64();
  RandomStream stream = seeded_stream(5);
  std::array<std::byte, 3> bytes;
  stream.fill(bytes);
  EXPECT_EQ(stream.next_u64(), first >> 24 | second << 40);
}

TEST(RandomStream, TakenBlocksBeginAtTheNextWholeBlock) {
  RandomStream stream = counting_stream();
  std::array<RandomBlock, 3> blocks;
  EXPECT_EQ(stream.take_blocks(blocks), 0u);
  EXPECT_EQ(blocks[2], (RandomBlock{4, 5}));
  EXPECT_EQ(stream.next_u64(), 6u);
  EXPECT_EQ(stream.take_blocks(blocks), 4u) << "the second half of block 3 is skipped";
  EXPECT_EQ(stream.next_u64(), 14u);
  EXPECT_EQ(stream.next_u64(), 15u);
  EXPECT_EQ(stream.take_blocks(blocks), 8u) << "nothing is skipped";
  stream.skip_blocks(2);
  EXPECT_EQ(stream.next_u64(), 26u);
}

TEST(RandomStream, FurtherDigitsDoNotMoveTheStream) {
  RandomStream stream = counting_stream();
  EXPECT_EQ(stream.next_u64(), 0u);
  EXPECT_EQ(stream.further_digits(2, 0), (RandomBlock{2000000, 2000001}));
  EXPECT_EQ(stream.next_u64(), 1u);
}

TEST(RandomStream, FurtherDigitsOfRowZeroOrOfAColumnAheadAreRefused) {
  RandomStream stream = counting_stream();
  stream.skip_blocks(4);
  EXPECT_NO_THROW(stream.further_digits(1, 3));
  EXPECT_THROW(stream.further_digits(0, 3), std::logic_error);
  EXPECT_THROW(stream.further_digits(1, 4), std::logic_error);
}

TEST(RandomStream, EndsBeforeTheCounterWraps) {
  constexpr std::uint64_t kBlocks = std::numeric_limits<std::uint64_t>::max();
  RandomStream stream = seeded_stream(5);
  stream.skip_blocks(kBlocks - 3);
  for (int word = 0; word < 6; ++word) EXPECT_NO_THROW(stream.next_u64());
  EXPECT_THROW(stream.next_u64(), EntropyFailure);
  EXPECT_THROW(stream.skip_blocks(1), EntropyFailure);
  std::array<RandomBlock, 1> block;
  EXPECT_THROW(stream.take_blocks(block), EntropyFailure);
}

TEST(RandomStream, RefusesToSkipPastItsEnd) {
  RandomStream stream = seeded_stream(5);
  stream.skip_blocks(1);
  EXPECT_THROW(stream.skip_blocks(std::numeric_limits<std::uint64_t>::max()), EntropyFailure);
}

TEST(RandomStream, MovedStreamGoesOnAndTheOldOneRefuses) {
  RandomStream stream = counting_stream();
  EXPECT_EQ(stream.next_u64(), 0u);
  RandomStream moved = std::move(stream);
  EXPECT_EQ(moved.next_u64(), 1u);
  EXPECT_THROW(stream.next_u64(), std::logic_error);  // NOLINT(bugprone-use-after-move)
}

TEST(RandomStream, NeedsATape) {
  EXPECT_THROW(RandomStream(nullptr), std::logic_error);
}

}  // namespace dpreduce::random_stream_test
