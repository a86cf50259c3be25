#include "common/randomness/random_stream.hpp"
#include "tests/common/randomness/tapes.hpp"
#include "tests/testing.hpp"

namespace dpreduce::block_source_test {

using oracle::seeded_tape;

// NIST SP 800-38A, F.5.5 (CTR-AES256.Encrypt): key, first counter, and the output blocks, which are the key stream.
TEST(AesBlockSource, AgreesWithNistVectors) {
  constexpr std::array<unsigned char, 32> kKey{0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae,
                                               0xf0, 0x85, 0x7d, 0x77, 0x81, 0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61,
                                               0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4};
  AesBlockSource source(std::as_bytes(std::span(kKey)));
  std::array<RandomBlock, 2> blocks;
  source.read(0xf0f1f2f3f4f5f6f7, 0xf8f9fafbfcfdfeff, blocks);
  EXPECT_EQ(blocks[0], (RandomBlock{0x33161759f17ddf0b, 0x02c560c8158b9a5e}));
  EXPECT_EQ(blocks[1], (RandomBlock{0x061961539d696e5a, 0x947b658f3c863354}));
}

TEST(AesBlockSource, BlocksDoNotDependOnHowTheyAreRead) {
  AesBlockSource source = seeded_tape(3);
  std::vector<RandomBlock> all(10000);
  source.read(0, 0, all);
  for (const std::size_t first : {0u, 1u, 4095u, 4096u, 9000u}) {
    std::vector<RandomBlock> part(all.size() - first);
    source.read(0, first, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(first)));
  }
}

TEST(AesBlockSource, RowsShareNoBlock) {
  AesBlockSource source = seeded_tape(3);
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> seen;
  for (const std::uint64_t row : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 63}) {
    std::vector<RandomBlock> blocks(1000);
    source.read(row, 0, blocks);
    for (const RandomBlock& block : blocks) ++seen[{block.first, block.second}];
  }
  EXPECT_EQ(seen.size(), 3000u);
}

TEST(AesBlockSource, ReadsTheLastColumnWithoutTouchingTheNextRow) {
  AesBlockSource source = seeded_tape(3);
  constexpr std::uint64_t kLast = ~std::uint64_t{0};
  RandomBlock last;
  source.read(0, kLast, std::span(&last, 1));
  RandomBlock next_row;
  source.read(1, 0, std::span(&next_row, 1));
  EXPECT_NE(last, next_row);
}

}  // namespace dpreduce::block_source_test
