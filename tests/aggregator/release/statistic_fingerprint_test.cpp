#include "aggregator/release/statistic_fingerprint.hpp"

#include "common/randomness/noise_key.hpp"
#include "tests/testing.hpp"

namespace dpreduce::statistic_fingerprint_test {

Statistic statistic_of(std::vector<std::int64_t> values) {
  Statistic statistic({{"sums", values.size()}});
  std::ranges::copy(values, statistic.block(0).begin());
  return statistic;
}

FingerprintPart part_of(const Statistic& statistic) {
  const NoiseKey key = NoiseKey::from_seed(3);
  RandomStream coefficients = key.stream("coefficients", {});
  return fingerprint_part(statistic, coefficients);
}

std::string fingerprint_over(const std::vector<std::vector<std::int64_t>>& parts) {
  FingerprintPart sum{};
  for (const auto& values : parts) {
    const FingerprintPart part = part_of(statistic_of(values));
    for (std::size_t word = 0; word < sum.size(); ++word) sum[word] += part[word];
  }
  return fingerprint_of(sum);
}

TEST(StatisticFingerprint, DoesNotDependOnHowTheSumIsSpreadOverRanks) {
  const std::string whole = fingerprint_over({{5, -7, 1000000007, 0}});
  EXPECT_EQ(fingerprint_over({{2, -3, 1000000000, 0}, {3, -4, 7, 0}}), whole);
  EXPECT_EQ(fingerprint_over({{0, 0, 0, 0}, {5, -7, 0, 9}, {0, 0, 1000000007, -9}}), whole);
}

// Whole numbers in fractions of 2^-24 have the fingerprint that they have in units of 1; others another one.
TEST(StatisticFingerprint, IsOfTheNumbersWhateverTheirUnits) {
  const auto in_fractions = [](const std::vector<std::int64_t>& values) {
    Statistic statistic({{"sums", 2}, {"counts", 2, 24}});
    std::ranges::copy(std::span(values).first(2), statistic.block(0).begin());
    std::ranges::copy(std::span(values).last(2), statistic.block(1).begin());
    return fingerprint_of(part_of(statistic));
  };
  EXPECT_EQ(in_fractions({5, -7, 3 << 24, -(1 << 24)}), fingerprint_over({{5, -7, 3, -1}}));
  EXPECT_NE(in_fractions({5, -7, (3 << 24) + 1, -(1 << 24)}), fingerprint_over({{5, -7, 3, -1}}));
}

TEST(StatisticFingerprint, TellsStatisticsApart) {
  std::set<std::string> seen;
  std::vector<std::vector<std::int64_t>> statistics{{0, 0, 0}, {1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, -1, 0}};
  for (int bit = 1; bit < 63; ++bit) statistics.push_back({std::int64_t{1} << bit, 0, 0});
  statistics.push_back({std::numeric_limits<std::int64_t>::min(), 0, 0});
  statistics.push_back({std::numeric_limits<std::int64_t>::max(), 0, 0});
  for (const auto& values : statistics) EXPECT_TRUE(seen.insert(fingerprint_over({values})).second) << values[0];
}

TEST(StatisticFingerprint, IsLinearModTheMersennePrime) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::string zero(32, '0');
  EXPECT_EQ(fingerprint_over({{0, 0}}), zero);
  EXPECT_EQ(fingerprint_over({{1, 0}, {-1, 0}}), zero);
  EXPECT_EQ(fingerprint_over({{Limits::min(), 3}, {1, -3}, {Limits::max(), 0}}), zero);
}

TEST(StatisticFingerprint, ManyRanksPartsDoNotOverflow) {
  FingerprintPart sum{};
  const FingerprintPart part = part_of(statistic_of({-1, 12345, 7}));
  constexpr std::uint64_t kRanks = 1000003;
  for (std::size_t word = 0; word < sum.size(); ++word) sum[word] = kRanks * part[word];
  EXPECT_EQ(fingerprint_of(sum), fingerprint_over({{-1000003, 12345 * 1000003LL, 7000021}}));
}

}  // namespace dpreduce::statistic_fingerprint_test
