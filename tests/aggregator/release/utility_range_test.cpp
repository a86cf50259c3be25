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

TEST(UtilityRange, OneRankFitsAlwaysAndOneMoreThanTheLargestIsRefused) {
  EXPECT_TRUE(cannot_wrap({{kLeastUtility, 0, kMostUtility}}));
  EXPECT_TRUE(cannot_wrap({{kMostUtility}, {0}, {kLeastUtility}}));
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

// Also where a silo that lies has moved a sum to the place where it would wrap around.
TEST(FoldedSum, MovesByNoMoreThanTheSumWhereverThatIs) {
  constexpr std::int64_t kTurn = std::int64_t{1} << 62;
  for (const std::int64_t honest : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-7}, kTurn, -kTurn}) {
    EXPECT_EQ(folded(honest), honest);
  }
  for (const std::int64_t place : {std::int64_t{0}, kTurn, -kTurn, kMostUtility, kLeastUtility}) {
    for (std::int64_t beside = -40; beside < 40; ++beside) {
      const std::uint64_t sum = static_cast<std::uint64_t>(place) + static_cast<std::uint64_t>(beside);
      for (const std::int64_t added : {1, 7, 30}) {
        const auto more = static_cast<std::int64_t>(sum + static_cast<std::uint64_t>(added));
        const std::int64_t moved = folded(more) - folded(static_cast<std::int64_t>(sum));
        EXPECT_LE(std::abs(moved), added) << place << " + " << beside;
      }
    }
  }
}

TEST(FoldedSum, LargestUtilitiesOfSilosAddUpToWhatTheyStandFor) {
  for (const std::uint64_t silos : {1, 2, 3, 1000}) {
    const std::int64_t sum = static_cast<std::int64_t>(silos) * largest_utility_of_silo(silos);
    EXPECT_EQ(folded(sum), sum);
    EXPECT_EQ(folded(-sum), -sum);
  }
}

}  // namespace dpreduce::utility_range_test
