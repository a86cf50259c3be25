#include "audit/audited_method.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace dpreduce {
namespace {

constexpr double kSigma = 4.0;

PlannedRelease planned(BlockNoise noise) {
  return {.name = "gram",
          .rounds = 1,
          .blocks = {{.name = "gram",
                      .elements = 3,
                      .squared_sensitivity = 1,
                      .sensitivity = 1.0,
                      .sigma = kSigma,
                      .mu = 0.25,
                      .noise = noise}},
          .profiles = {},
          .mu = 0.25};
}

Statistic statistic(std::int64_t a, std::int64_t b, std::int64_t c) {
  Statistic result({{"gram", 3}});
  std::ranges::copy(std::vector<std::int64_t>{a, b, c}, result.block(0).begin());
  return result;
}

Release released(std::int64_t a, std::int64_t b, std::int64_t c) {
  return Release({ReleasedBlock("gram", {a, b, c}, kSigma)});
}

TEST(LogRatio, IsTheLogarithmOfTheDensitiesRatio) {
  const Statistic without = statistic(0, 0, 0);
  const Statistic with = statistic(3, 5, -2);
  const auto log_density = [](double x, double mean, double variance) {
    return -(x - mean) * (x - mean) / (2 * variance);
  };
  const double v = kSigma * kSigma;
  const double by_hand = log_density(7, 3, v) + log_density(-1, 5, v / 2) + log_density(4, -2, v) -
                         (log_density(7, 0, v) + log_density(-1, 0, v / 2) + log_density(4, 0, v));
  EXPECT_NEAR(log_ratio(planned(BlockNoise::kSymmetric), released(7, -1, 4), without, with), by_hand, 1e-12);
}

TEST(LogRatio, DistanceCountsElementsBesideADiagonalTwice) {
  const Statistic without = statistic(0, 0, 0);
  const Statistic with = statistic(4, 4, 0);
  EXPECT_DOUBLE_EQ(planned_distance(planned(BlockNoise::kEqual), without, with), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(planned_distance(planned(BlockNoise::kSymmetric), without, with), std::sqrt(3.0));
}

TEST(LogRatio, OfCountsInFractionsIsInWholeUnits) {
  PlannedRelease whole = planned(BlockNoise::kEqual);
  PlannedRelease fractions = whole;
  fractions.blocks[0].fraction_bits = 2;
  const Statistic without({{"gram", 3, 2}});
  Statistic with({{"gram", 3, 2}});
  std::ranges::copy(std::vector<std::int64_t>{4 * 4, 6, 0}, with.block(0).begin());
  EXPECT_DOUBLE_EQ(planned_distance(fractions, without, with), std::sqrt((4.0 * 4.0 + 1.5 * 1.5) / 16.0));
  const double by_hand = (4.0 * (7 - 2.0) + 1.5 * (1 - 0.75)) / 16.0;
  EXPECT_NEAR(log_ratio(fractions, released(7, 1, 5), without, with), by_hand, 1e-12);
}

TEST(LogRatio, IsZeroWhereTheWorldsAreTheSame) {
  EXPECT_EQ(log_ratio(planned(BlockNoise::kEqual), released(100, 200, 300), statistic(1, 2, 3), statistic(1, 2, 3)),
            0.0);
}

}  // namespace

}  // namespace dpreduce
