#include "common/randomness/row_coins.hpp"

#include "common/randomness/noise_key.hpp"
#include "tests/testing.hpp"

namespace dpreduce::row_coins_test {

using Secret = std::array<std::byte, 32>;

Secret secret_of(unsigned char number) {
  Secret secret{};
  secret[0] = std::byte{number};
  return secret;
}

std::vector<bool> coins_of(const Secret& secret, double rate, std::uint64_t first, std::size_t rows) {
  RowCoins coins(secret, rate, first);
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
    const std::vector<bool> drawn = coins_of(secret_of(1), rate, 0, kRows);
    const std::vector<bool> of_another_round = coins_of(secret_of(2), rate, 0, kRows);
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
  const std::vector<bool> all = coins_of(secret_of(3), 0.3, 0, 3000);
  for (const std::uint64_t first : {1U, 2U, 17U, 256U, 2999U}) {
    const std::vector<bool> tail(all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
    EXPECT_EQ(coins_of(secret_of(3), 0.3, first, tail.size()), tail) << first;
  }
}

// In any order, far apart, and many under one place.
TEST(RowCoins, APersonHasTheCoinOfTheirFirstRow) {
  const std::vector<bool> all = coins_of(secret_of(5), 0.5, 0, 6000);
  std::vector<std::uint64_t> first_rows{5999, 3, 0, 3, 17, 16, 17, 17, 5000};
  for (std::uint64_t row = 1000; row < 1200; ++row) first_rows.insert(first_rows.end(), {row, row});
  const Secret secret = secret_of(5);
  RowSample sample{.secret = SecretVector<std::byte>(secret.begin(), secret.end()), .rate = 0.5, .first_row = 0};
  const std::vector<char> drawn = sample.drawn_units(first_rows);
  for (std::size_t person = 0; person < drawn.size(); ++person) {
    EXPECT_EQ(drawn[person] != 0, all[first_rows[person]]) << person;
  }
}

TEST(RowCoins, TheRateIsAnExactIntegerOutOfAllWords) {
  const Secret secret = secret_of(4);
  for (const double rate : {0.75, 0.1, 0x1p-12, 1e-9}) {
    RandomStream words = NoiseKey::from_bytes(secret).stream("row coins", {});
    const auto threshold = static_cast<std::uint64_t>(std::floor(std::ldexp(static_cast<long double>(rate), 64)));
    RowCoins coins(secret, rate, 0);
    for (int row = 0; row < 10000; ++row) ASSERT_EQ(coins.next(), words.next_u64() < threshold);
    EXPECT_LE(std::ldexp(static_cast<long double>(threshold), -64), static_cast<long double>(rate));
  }
}

TEST(RowCoins, RatesThatAreNoProbabilityAreRefused) {
  for (const double rate : {0.0, -0.5, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(RowCoins(secret_of(1), rate, 0), std::logic_error) << rate;
  }
}

}  // namespace dpreduce::row_coins_test
