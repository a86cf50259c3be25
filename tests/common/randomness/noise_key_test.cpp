#include "common/randomness/noise_key.hpp"

#include <type_traits>

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::noise_key_test {

static_assert(!std::is_copy_constructible_v<NoiseKey> && !std::is_copy_assignable_v<NoiseKey>);

template <class T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};
static_assert(!Printable<NoiseKey>);

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::vector<std::uint64_t> words(RandomStream stream, std::size_t count) {
  std::vector<std::uint64_t> out(count);
  for (std::uint64_t& word : out) word = stream.next_u64();
  return out;
}

// Computed with Python's hashlib and hmac and the openssl program.
TEST(NoiseKey, StreamOfSeed42IsKnown) {
  const NoiseKey key = NoiseKey::from_seed(42);
  EXPECT_EQ(
      words(key.stream("noise", bytes_of("block 7")), 4),
      (std::vector<std::uint64_t>{0xe513aa20eb3aa620, 0x1b79dac62faa225e, 0xadf7b62e55ed8049, 0xe1a3960c5d833a91}));
  EXPECT_EQ(words(key.stream("noise", bytes_of("block 7")), 125000).back(), 0xe8797e91ef729306);

  RandomStream stream = key.stream("noise", bytes_of("block 7"));
  stream.skip_blocks(4096);
  EXPECT_EQ(stream.further_digits(3, 5), (RandomBlock{0x1cdea5f6215657cd, 0x4f8822d9a645aef2}));
  EXPECT_EQ(stream.next_u64(), 0x47e27cd000ed0879);
}

TEST(NoiseKey, SamePairGivesTheSameStreamAgain) {
  const NoiseKey key = NoiseKey::from_entropy();
  EXPECT_EQ(words(key.stream("noise", bytes_of("a")), 100), words(key.stream("noise", bytes_of("a")), 100));
}

// The pairs are chosen so that plain concatenation, or lengths of one part alone, would confuse some of them.
TEST(NoiseKey, StreamsOfDifferentPairsShareNoBlock) {
  const NoiseKey key = NoiseKey::from_seed(1);
  const std::vector<std::pair<std::string_view, std::string_view>> pairs{
      {"", ""},   {"a", ""},  {"", "a"},        {"ab", ""},       {"a", "b"},
      {"", "ab"}, {"b", "a"}, {"a", {"\0", 1}}, {{"a\0", 2}, ""}, {"", {"\0\0\0\0\0\0\0\0", 8}}};
  std::set<std::pair<std::uint64_t, std::uint64_t>> blocks;
  for (const auto& [purpose, context] : pairs) {
    const auto stream = words(key.stream(purpose, bytes_of(context)), 20000);
    for (std::size_t word = 0; word < stream.size(); word += 2) blocks.insert({stream[word], stream[word + 1]});
  }
  EXPECT_EQ(blocks.size(), pairs.size() * 10000);
}

TEST(NoiseKey, DifferentKeysGiveDifferentStreams) {
  std::set<std::uint64_t> first_words;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const NoiseKey key = NoiseKey::from_seed(seed);
    first_words.insert(key.stream("noise", {}).next_u64());
  }
  for (int draw = 0; draw < 100; ++draw) {
    const NoiseKey key = NoiseKey::from_entropy();
    first_words.insert(key.stream("noise", {}).next_u64());
  }
  EXPECT_EQ(first_words.size(), 200u);
}

TEST(NoiseKey, IsTheBytesOfItsSource) {
  const auto constant = [](std::byte value) {
    return NoiseKey::from_entropy([value](std::span<std::byte> out) {
      EXPECT_EQ(out.size(), 32u);
      std::fill(out.begin(), out.end(), value);
      return true;
    });
  };
  const auto stream = [&](std::byte value) { return words(constant(value).stream("noise", {}), 4); };
  EXPECT_EQ(stream(std::byte{1}), stream(std::byte{1}));
  EXPECT_NE(stream(std::byte{1}), stream(std::byte{2}));
}

TEST(NoiseKey, EntropyFailureIsFatal) {
  EXPECT_THROW(NoiseKey::from_entropy([](std::span<std::byte>) { return false; }), EntropyFailure);
}

TEST(NoiseKey, MovedFromKeyDerivesNothing) {
  NoiseKey key = NoiseKey::from_seed(3);
  const std::vector<std::uint64_t> stream = words(key.stream("noise", {}), 4);
  const NoiseKey moved = std::move(key);
  EXPECT_EQ(words(moved.stream("noise", {}), 4), stream);
  EXPECT_THROW(key.stream("noise", {}), std::logic_error);  // NOLINT(bugprone-use-after-move)
}

}  // namespace dpreduce::noise_key_test
