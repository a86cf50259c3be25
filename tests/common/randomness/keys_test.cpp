// Keys: of noise, of the coins of rows, and for signatures.
#include <type_traits>

#include "common/base/error.hpp"
#include "common/randomness/noise_key.hpp"
#include "common/randomness/signing_key.hpp"
#include "tests/testing.hpp"

namespace dpreduce::keys_test {

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
  EXPECT_THAT(words(key.stream("noise", bytes_of("block 7")), 4),
              ElementsAre(0xe513aa20eb3aa620, 0x1b79dac62faa225e, 0xadf7b62e55ed8049, 0xe1a3960c5d833a91));
  EXPECT_EQ(words(key.stream("noise", bytes_of("block 7")), 125000).back(), 0xe8797e91ef729306);

  RandomStream stream = key.stream("noise", bytes_of("block 7"));
  stream.skip_blocks(4096);
  EXPECT_EQ(stream.further_digits(3, 5), (RandomBlock{0x1cdea5f6215657cd, 0x4f8822d9a645aef2}));
  EXPECT_EQ(stream.next_u64(), 0x47e27cd000ed0879);
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
    first_words.insert(NoiseKey::from_seed(seed).stream("noise", {}).next_u64());
    first_words.insert(NoiseKey::from_entropy().stream("noise", {}).next_u64());
  }
  EXPECT_EQ(first_words.size(), 200u);
}

TEST(NoiseKey, IsTheBytesOfItsSource) {
  const auto stream = [](std::byte value) {
    const NoiseKey constant = NoiseKey::from_entropy([value](std::span<std::byte> out) {
      EXPECT_EQ(out.size(), 32u);
      std::fill(out.begin(), out.end(), value);
      return true;
    });
    return words(constant.stream("noise", {}), 4);
  };
  EXPECT_EQ(stream(std::byte{1}), stream(std::byte{1}));
  EXPECT_NE(stream(std::byte{1}), stream(std::byte{2}));
  EXPECT_THROW(NoiseKey::from_entropy([](std::span<std::byte>) { return false; }), EntropyFailure);
}

TEST(NoiseKey, MovedFromKeyDerivesNothing) {
  NoiseKey key = NoiseKey::from_seed(3);
  const std::vector<std::uint64_t> stream = words(key.stream("noise", {}), 4);
  const NoiseKey moved = std::move(key);
  EXPECT_EQ(words(moved.stream("noise", {}), 4), stream);
  EXPECT_THROW(key.stream("noise", {}), std::logic_error);  // NOLINT(bugprone-use-after-move)
}

std::array<std::byte, 32> secret_of(unsigned char number) {
  return {std::byte{number}};
}

std::vector<bool> coins_of(unsigned char secret, double rate, std::uint64_t first, std::size_t rows) {
  RowCoins coins(secret_of(secret), rate, first);
  std::vector<bool> drawn;
  for (std::size_t row = 0; row < rows; ++row) drawn.push_back(coins.next());
  return drawn;
}

// Standard deviations by which a count of n independent events of that probability is off.
double deviations(std::size_t count, std::size_t n, double probability) {
  const double trials = static_cast<double>(n);
  return std::abs(static_cast<double>(count) - trials * probability) /
         std::sqrt(trials * probability * (1 - probability));
}

// 15 comparisons at 5 standard deviations each: false alarm 1e-5 over secrets; these are fixed.
TEST(RowCoins, RowsAreDrawnAtTheRateAndIndependently) {
  constexpr std::size_t kRows = 400000;
  for (const double rate : {0.9, 0.5, 0.1, 0.01, 0.001}) {
    const std::vector<bool> drawn = coins_of(1, rate, 0, kRows);
    const std::vector<bool> of_another_round = coins_of(2, rate, 0, kRows);
    std::size_t count = 0;
    std::size_t neighbors = 0;
    std::size_t in_both = 0;
    for (std::size_t row = 0; row < kRows; ++row) {
      count += drawn[row] ? 1 : 0;
      in_both += drawn[row] && of_another_round[row] ? 1 : 0;
      if (row % 2 == 1) neighbors += drawn[row] && drawn[row - 1] ? 1 : 0;
    }
    EXPECT_LE(deviations(count, kRows, rate), 5) << rate;
    EXPECT_LE(deviations(in_both, kRows, rate * rate), 5) << rate;
    EXPECT_LE(deviations(neighbors, kRows / 2, rate * rate), 5) << rate;
  }
}

TEST(RowCoins, ARowHasItsCoinWhereverARankBegins) {
  const std::vector<bool> all = coins_of(3, 0.3, 0, 3000);
  for (const std::uint64_t first : {1U, 2U, 17U, 256U, 2999U}) {
    const std::vector<bool> tail(all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
    EXPECT_EQ(coins_of(3, 0.3, first, tail.size()), tail) << first;
  }
}

// In any order, far apart, and many under one place.
TEST(RowCoins, APersonHasTheCoinOfTheirFirstRow) {
  const std::vector<bool> all = coins_of(5, 0.5, 0, 6000);
  std::vector<std::uint64_t> first_rows{5999, 3, 0, 3, 17, 16, 17, 17, 5000};
  for (std::uint64_t row = 1000; row < 1200; ++row) first_rows.insert(first_rows.end(), {row, row});
  const auto secret = secret_of(5);
  RowSample sample{.secret = SecretVector<std::byte>(secret.begin(), secret.end()), .rate = 0.5, .first_row = 0};
  const std::vector<char> drawn = sample.drawn_units(first_rows);
  for (std::size_t person = 0; person < drawn.size(); ++person) {
    EXPECT_EQ(drawn[person] != 0, all[first_rows[person]]) << person;
  }
}

TEST(RowCoins, TheRateIsAnExactIntegerOutOfAllWordsOrRefused) {
  const auto secret = secret_of(4);
  for (const double rate : {0.75, 0.1, 0x1p-12, 1e-9}) {
    RandomStream words = NoiseKey::from_bytes(secret).stream("row coins", {});
    const auto threshold = static_cast<std::uint64_t>(std::floor(std::ldexp(static_cast<long double>(rate), 64)));
    RowCoins coins(secret, rate, 0);
    for (int row = 0; row < 10000; ++row) ASSERT_EQ(coins.next(), words.next_u64() < threshold);
    EXPECT_LE(std::ldexp(static_cast<long double>(threshold), -64), static_cast<long double>(rate));
  }
  for (const double rate : {0.0, -0.5, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(RowCoins(secret_of(1), rate, 0), std::logic_error) << rate;
  }
}

TEST(SigningKey, ASignatureIsOfItsMessageAndItsSignerAlone) {
  const SigningKey one = SigningKey::generate();
  const SigningKey other = SigningKey::generate();
  Signature signature = one.sign(bytes_of("message"));
  EXPECT_TRUE(verifies(one.public_key(), bytes_of("message"), signature));
  EXPECT_FALSE(verifies(one.public_key(), bytes_of("massage"), signature));
  EXPECT_FALSE(verifies(other.public_key(), bytes_of("message"), signature));
  signature[10] ^= std::byte{1};
  EXPECT_FALSE(verifies(one.public_key(), bytes_of("message"), signature));
}

// RFC 8032, section 7.1, test 2 (one byte), its secret key behind the fixed header of PKCS #8.
TEST(SigningKey, IsEd25519) {
  const auto key =
      SigningKey::from_pem(bytes_of("-----BEGIN PRIVATE KEY-----\n"
                                    "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
                                    "-----END PRIVATE KEY-----\n"));
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(to_hex(key->public_key()), "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  EXPECT_EQ(to_hex(key->sign(bytes_of("\x72"))),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
}

TEST(SigningKey, ItsTextIsReadBackAndOtherTextsAreNone) {
  const SigningKey key = SigningKey::generate();
  EXPECT_EQ(SigningKey::from_pem(key.to_pem())->public_key(), key.public_key());
  for (const std::string& text : {std::string(), std::string(32, 'k'), std::string("-----BEGIN PRIVATE KEY-----\n")}) {
    EXPECT_FALSE(SigningKey::from_pem(bytes_of(text)).has_value());
  }
  // X25519, which agrees on keys and signs nothing.
  EXPECT_FALSE(SigningKey::from_pem(bytes_of("-----BEGIN PRIVATE KEY-----\n"
                                             "MC4CAQAwBQYDK2VuBCIEIHcHbQpzGKV9PBbBclGyZkXfTC+H68CZKrF3+6UduSwq\n"
                                             "-----END PRIVATE KEY-----\n"))
                   .has_value());
}

TEST(SigningKey, HexIsReadBackInItsOneForm) {
  const SigningKey key = SigningKey::generate();
  const Signature signature = key.sign(bytes_of("message"));
  EXPECT_EQ(public_key_of_hex(to_hex(key.public_key())), key.public_key());
  EXPECT_EQ(signature_of_hex(to_hex(signature)), signature);
  EXPECT_FALSE(public_key_of_hex(std::string(64, 'A')).has_value());
  EXPECT_FALSE(public_key_of_hex(std::string(63, 'a')).has_value());
  EXPECT_FALSE(signature_of_hex(std::string(64, 'a')).has_value());
  EXPECT_FALSE(signature_of_hex(std::string(127, 'a') + "g").has_value());
}

// FIPS 180-2, example B.1.
TEST(SigningKey, TheHashIsSha256) {
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace dpreduce::keys_test
