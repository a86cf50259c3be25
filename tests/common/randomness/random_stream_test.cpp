// Random bytes, from the system's entropy to the words of a stream, and the keyed hash of the same cipher.
#include "common/randomness/random_stream.hpp"

#include <type_traits>

#include "common/base/error.hpp"
#include "common/randomness/keyed_hash.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "tests/common/randomness/tapes.hpp"

namespace dpreduce::random_stream_test {

using namespace oracle;

TEST(SecureBytes, AnyNumberOfBytesIsFilled) {  // a byte stays zero in all 64 draws with probability 33 * 2^-512
  std::array<std::byte, 33> seen{};
  for (int draw = 0; draw < 64; ++draw) {
    std::array<std::byte, 33> bytes{};
    secure_bytes(bytes);
    for (std::size_t place = 0; place < bytes.size(); ++place) seen[place] |= bytes[place];
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), std::byte{0}), 0);
  EXPECT_NO_THROW(secure_bytes({}));
}

TEST(SecureBytes, FailingSourceIsFatalAndAskedOnce) {
  int asked = 0;
  std::array<std::byte, 8> bytes;
  bytes.fill(std::byte{7});
  const EntropySource fails = [&asked](std::span<std::byte> out) {
    ++asked;
    out[0] = std::byte{1};
    return false;
  };
  EXPECT_THROW(secure_bytes(bytes, fails), EntropyFailure);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(bytes, (std::array<std::byte, 8>{})) << "half-filled bytes must not be mistaken for random ones";
}

TEST(SecureBytes, CleanseWritesZeros) {
  std::array<unsigned, 5> secret{1, 2, 3, 4, 5};
  cleanse(secret.data(), sizeof secret);
  EXPECT_EQ(secret, (std::array<unsigned, 5>{}));
}

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

RandomBlock block_of(const std::string& hex) {
  RandomBlock block;
  std::memcpy(&block, from_hex(hex).data(), sizeof block);
  return block;
}

// Of the examples of NIST SP 800-38A.
std::span<const std::byte, 32> nist_key() {
  static const std::vector<std::byte> key =
      from_hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
  return std::span<const std::byte, 32>(key);
}

// NIST SP 800-38A, F.5.5 (CTR-AES256.Encrypt): key, first counter, and the output blocks, which are the key stream.
TEST(AesBlockSource, AgreesWithNistVectors) {
  AesBlockSource source(nist_key());
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
    EXPECT_TRUE(std::ranges::equal(part, std::span(all).subspan(first)));
  }
}

TEST(AesBlockSource, RowsShareNoBlock) {
  AesBlockSource source = seeded_tape(3);
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const std::uint64_t row : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 63}) {
    std::vector<RandomBlock> blocks(1000);
    source.read(row, 0, blocks);
    for (const RandomBlock& block : blocks) seen.insert({block.first, block.second});
  }
  EXPECT_EQ(seen.size(), 3000u);
  RandomBlock last;
  source.read(0, ~std::uint64_t{0}, std::span(&last, 1));
  EXPECT_FALSE(seen.contains({last.first, last.second})) << "the last column touches no other row";
}

// NIST SP 800-38A, F.2.5: AES-256 in CBC mode, whose initial vector is the first state.
TEST(BlockMac, AgreesWithTheStandardsExample) {
  std::vector<RandomBlock> states{block_of("000102030405060708090a0b0c0d0e0f")};
  const BlockMac mac(nist_key());
  const std::pair<const char*, const char*> steps[] = {
      {"6bc1bee22e409f96e93d7e117393172a", "f58c4c04d6e5f1ba779eabfb5f7bfbd6"},
      {"ae2d8a571e03ac9c9eb76fac45af8e51", "9cfc4e967edb808d679f777bc6702c7d"},
      {"30c81c46a35ce411e5fbc1191a0a52ef", "39f23369a9d9bacfa530e26304231461"}};
  for (const auto& [text, cipher] : steps) {
    mac.chain(states, std::vector<RandomBlock>{block_of(text)});
    EXPECT_EQ(states[0], block_of(cipher));
  }
}

TEST(BlockMac, MessagesDoNotDependOnEachOther) {
  const BlockMac mac(nist_key());
  std::vector<RandomBlock> together(5);
  std::vector<RandomBlock> blocks;
  for (std::uint64_t m = 0; m < 5; ++m) blocks.push_back({m, ~m});
  mac.chain(together, blocks);
  for (std::size_t m = 0; m < 5; ++m) {
    std::vector<RandomBlock> alone(1);
    mac.chain(alone, std::span(blocks).subspan(m, 1));
    EXPECT_EQ(alone[0], together[m]);
  }
  EXPECT_THROW(mac.chain(together, std::vector<RandomBlock>(1)), std::logic_error) << "a block for every message";
}

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

TEST(RandomStream, FurtherDigitsDoNotMoveTheStreamAndAreOfColumnsBehind) {
  RandomStream stream = counting_stream();
  EXPECT_EQ(stream.next_u64(), 0u);
  EXPECT_EQ(stream.further_digits(2, 0), (RandomBlock{2000000, 2000001}));
  EXPECT_EQ(stream.next_u64(), 1u);
  stream.skip_blocks(3);
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
  RandomStream other = seeded_stream(5);
  other.skip_blocks(1);
  EXPECT_THROW(other.skip_blocks(kBlocks), EntropyFailure);
}

TEST(RandomStream, MovedStreamGoesOnAndTheOldOneRefuses) {
  RandomStream stream = counting_stream();
  EXPECT_EQ(stream.next_u64(), 0u);
  RandomStream moved = std::move(stream);
  EXPECT_EQ(moved.next_u64(), 1u);
  EXPECT_THROW(stream.next_u64(), std::logic_error);  // NOLINT(bugprone-use-after-move)
  EXPECT_THROW(RandomStream(nullptr), std::logic_error) << "a stream needs a tape";
}

}  // namespace dpreduce::random_stream_test
