// Intervals of shares whose counts are noised. How often they hold over a grid of n, p and epsilon is an experiment of
// its own; here some of its cells.
#include "tests/testing.hpp"
#include "worker/metrics/estimates.hpp"

namespace dpreduce::share_interval_test {

// Beta(8.5, 2.5) quantiles at 0.025 and 0.975.
TEST(ShareInterval, WithoutNoiseIsNearJeffreysInterval) {
  const Estimate estimate = estimate_share({8, 2, 0.0}, 0.95);
  EXPECT_NEAR(estimate.low, 0.4991, 0.04);
  EXPECT_NEAR(estimate.high, 0.9555, 0.04);
  EXPECT_NEAR(estimate.value, 0.8, 1e-12);
  const Estimate all = estimate_share({50, 0, 0.0}, 0.95);
  EXPECT_GT(all.low, 0.93);
  EXPECT_LE(all.high, 1.0);
}

// What is right and what is wrong are alike: exchanged, they give the interval of 1 - p.
TEST(ShareInterval, OfTheRestIsTheMirrorImage) {
  for (const auto& [right, wrong, sigma] : {std::tuple{8.0, 2.0, 0.5}, std::tuple{60.0, 3.0, 0.1},
                                            std::tuple{930.0, 41.0, 6.0}, std::tuple{20.0, -3.0, 9.0}}) {
    const Estimate share = estimate_share({right, wrong, sigma}, 0.9);
    const Estimate rest = estimate_share({wrong, right, sigma}, 0.9);
    EXPECT_NEAR(share.low, 1.0 - rest.high, 1e-6) << right;
    EXPECT_NEAR(share.high, 1.0 - rest.low, 1e-6) << right;
  }
}

TEST(ShareInterval, OfManyCountsIsTheNormalOneAndBothMeet) {
  const auto noise = [](double p, double rows) { return std::hypot(p, 1 - p) * 4.0 / rows; };
  const auto deviation = [&](double p, double rows) {
    return std::hypot(noise(p, rows), std::sqrt(p * (1 - p) / rows));
  };
  const Estimate many = estimate_share({900, 400, 4.0}, 0.95);  // normal
  EXPECT_NEAR(many.noise, noise(900.0 / 1300.0, 1300.0), 1e-12);
  EXPECT_NEAR(many.high - many.low, 2 * 1.95996 * deviation(900.0 / 1300.0, 1300.0), 5e-4);
  const Estimate few = estimate_share({900, 310, 4.0}, 0.95);  // by the sum
  EXPECT_NEAR(few.deviation / deviation(900.0 / 1210.0, 1210.0), 1.0, 0.02);
}

TEST(ShareInterval, NoiseThatHidesTheRowsSaysNothing) {
  EXPECT_TRUE(estimate_share({3, -5, 30.0}, 0.95).is_uninformative());
  EXPECT_TRUE(estimate_share({-40, -60, 30.0}, 0.95).is_uninformative());
  EXPECT_FALSE(estimate_share({900, 100, 30.0}, 0.95).is_uninformative());
  const auto width = [](double sigma) {
    const Estimate share = estimate_share({900, 100, sigma}, 0.95);
    return share.high - share.low;
  };
  EXPECT_GT(width(60.0), width(5.0));
}

// 95 % intervals, 3,000 draws a cell: within 4 standard errors of 0.004 of 0.94 to 0.97. Also where noise hides the
// wrong rows.
TEST(ShareInterval, HoldsAsOftenAsItSays) {
  std::mt19937_64 random(8);
  for (const auto& [p, n, sigma] : {std::tuple{0.9, 100, 3.7}, std::tuple{0.99, 1000, 0.6}, std::tuple{0.9, 5000, 30.0},
                                    std::tuple{0.99, 100, 37.0}, std::tuple{0.01, 100, 3.7}}) {
    std::binomial_distribution<long> right_of(n, p);
    std::normal_distribution<double> noise(0.0, sigma);
    int held = 0;
    constexpr int kDraws = 3000;
    for (int draw = 0; draw < kDraws; ++draw) {
      const auto right = static_cast<double>(right_of(random));
      const NoisedCounts counts{std::round(right + noise(random)), std::round(n - right + noise(random)), sigma};
      const Estimate estimate = estimate_share(counts, 0.95);
      held += estimate.low <= p && p <= estimate.high ? 1 : 0;
    }
    EXPECT_GE(held, 0.924 * kDraws) << p << " " << n;
    EXPECT_LE(held, 0.982 * kDraws) << p << " " << n;
  }
}

// No mean is of fewer rows than noise leaves possible: else noise of a small sum would be told as a large loss.
TEST(MeanInterval, ANumberOfRowsThatNoiseHidesIsTakenToBeThatNoise) {
  for (const double rows : {-40.0, 0.0, 3.0}) {
    const Estimate hidden = estimate_mean(10.0, 1.0, rows, 50.0, 2.0, 0.95);
    EXPECT_NEAR(hidden.value, 10.0 / 50.0, 1e-12) << rows;
    EXPECT_NEAR(hidden.noise, std::hypot(1.0, 0.2 * 50.0) / 50.0, 1e-12) << rows;
  }
  EXPECT_NEAR(estimate_mean(10.0, 1.0, 60.0, 50.0, 2.0, 0.95).value, 10.0 / 60.0, 1e-12);
  EXPECT_NEAR(estimate_mean(0.25, 0.0, -3.0, 0.0, 2.0, 0.95).value, 0.25, 1e-12) << "one row at least";
}

TEST(MeanInterval, IsInItsRangeAndAsWideAsNoiseAsks) {
  const Estimate quiet = estimate_mean(500, 0.0, 1000, 0.0, 2.0, 0.95);
  EXPECT_NEAR(quiet.value, 0.5, 1e-12);
  EXPECT_NEAR(quiet.high - quiet.low, 2 * 1.95996 * std::sqrt(0.5 * 1.5 / 1000), 1e-4);
  const Estimate loud = estimate_mean(500, 100.0, 1000, 50.0, 2.0, 0.95);
  EXPECT_NEAR(loud.noise, std::hypot(0.1, 0.5 * 0.05), 1e-9);
  EXPECT_GE(estimate_mean(-30, 100.0, 3, 50.0, 2.0, 0.95).low, 0.0);
  EXPECT_LE(estimate_mean(900, 100.0, 3, 50.0, 2.0, 0.95).high, 2.0);
}

}  // namespace dpreduce::share_interval_test
