#include "aggregator/release/selection_sampler.hpp"
#include "tests/testing.hpp"

namespace dpreduce::utility_range_test {

constexpr std::int64_t kMostUtility = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeastUtility = std::numeric_limits<std::int64_t>::min();

// As a reduction over ranks adds up their parts, each rank's utilities being one inner list.
bool cannot_wrap(const std::vector<std::vector<std::int64_t>>& ranks) {
  UtilityRange sum{};
  for (const auto& local : ranks) {
    const UtilityRange range = utility_range(local);
    for (std::size_t digit = 0; digit < sum.size(); ++digit) sum[digit] += range[digit];
  }
  return sums_cannot_wrap(sum);
}

TEST(UtilityRange, OneRankFitsAlways) {
  EXPECT_TRUE(cannot_wrap({{kLeastUtility, 0, kMostUtility}}));
  EXPECT_TRUE(cannot_wrap({{kMostUtility}, {0}, {kLeastUtility}}));
}

TEST(UtilityRange, OneMoreThanTheLargestIsRefused) {
  EXPECT_TRUE(cannot_wrap({{kMostUtility - 5}, {5}}));
  EXPECT_FALSE(cannot_wrap({{kMostUtility - 5}, {6}}));
  EXPECT_TRUE(cannot_wrap({{kLeastUtility + 5}, {-5}}));
  EXPECT_FALSE(cannot_wrap({{kLeastUtility + 5}, {-6}}));
}

TEST(UtilityRange, CarriesBetweenDigitsCount) {
  const std::int64_t low = 0xffffffff;
  EXPECT_TRUE(cannot_wrap(std::vector<std::vector<std::int64_t>>(1000, {low, -low})));
  EXPECT_TRUE(cannot_wrap({{kMostUtility - low}, {low}}));
  EXPECT_FALSE(cannot_wrap({{kMostUtility - low}, {low}, {1}}));
  EXPECT_FALSE(cannot_wrap(std::vector<std::vector<std::int64_t>>(1000, {kLeastUtility})));
}

}  // namespace dpreduce::utility_range_test
