#include "evaluate/number_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "common/plan/evaluation_terms.hpp"
#include "tests/testing.hpp"

namespace dpreduce::number_figures_test {

constexpr double kTruth = 0.36;  // R^2: 1 - .2^2 / .25^2
constexpr double kSpread = 0.25;
constexpr double kError = 0.2;
constexpr double kScale = 20.0;

// n, and sums of y', y'^2, y'^3, y'^4, e^2 and e^4 of so many normal rows.
std::vector<double> drawn_sums(std::mt19937& engine, int rows) {
  std::normal_distribution<double> normal;
  std::vector<double> sums(7, 0.0);
  for (int row = 0; row < rows; ++row) {
    const double y = 0.1 + kSpread * normal(engine);
    const double e = kError * normal(engine);
    const double terms[] = {1.0, y, y * y, y * y * y, y * y * y * y, e * e, e * e * e * e};
    for (std::size_t term = 0; term < sums.size(); ++term) sums[term] += terms[term];
  }
  return sums;
}

TEST(EstimateNumbers, AreThoseOfTheSumsWithoutNoise) {
  std::mt19937 engine(3);
  const std::vector<double> sums = drawn_sums(engine, 5000);
  const NumberFigures exact = estimate_numbers(sums, std::vector<double>(7, 0.0), kScale, 0.95);
  EXPECT_NEAR(exact.rmse.value, kScale * std::sqrt(sums[5] / sums[0]), 1e-12);
  EXPECT_NEAR(exact.r2.value, 1.0 - sums[5] / (sums[2] - sums[1] * sums[1] / sums[0]), 1e-12);
  EXPECT_EQ(exact.r2.noise, 0.0);
  EXPECT_EQ(exact.rmse.noise, 0.0);
}

// From noise that hides everything to noise beside which there is sampling alone: an interval holds the truth as often
// as it says, or is so wide that nothing is told. False alarm below 1e-6 each.
TEST(EstimateNumbers, HoldTheTruthOrSayNothing) {
  std::mt19937 engine(5);
  std::normal_distribution<double> normal;
  constexpr int kRuns = 1000;
  for (const auto& [rows, noise] : std::array{std::pair{100, 60.0}, std::pair{100, 15.0}, std::pair{1000, 60.0},
                                              std::pair{1000, 5.0}, std::pair{1000, 0.0}}) {
    int wrong_r2 = 0;
    int wrong_rmse = 0;
    for (int run = 0; run < kRuns; ++run) {
      std::vector<double> sums = drawn_sums(engine, rows);
      for (double& sum : sums) sum += noise * normal(engine);
      const NumberFigures told = estimate_numbers(sums, std::vector<double>(7, noise), kScale, 0.95);
      wrong_r2 += told.r2.low > kTruth || told.r2.high < kTruth ? 1 : 0;
      wrong_rmse += told.rmse.low > kScale * kError || told.rmse.high < kScale * kError ? 1 : 0;
    }
    EXPECT_LE(wrong_r2, kRuns * 95 / 1000) << rows << " rows, noise " << noise;
    EXPECT_LE(wrong_rmse, kRuns * 95 / 1000) << rows << " rows, noise " << noise;
  }
}

TEST(EstimateNumbers, SayNothingOfASpreadThatMayBeNone) {
  const NumberFigures told =
      estimate_numbers(std::vector{90.0, 3.0, 12.0, 1.0, 5.0, -20.0, 5.0}, std::vector(7, 40.0), 1.0, 0.95);
  EXPECT_EQ(told.r2.low, kLeastR2);
  EXPECT_EQ(told.r2.high, 1.0);
  EXPECT_TRUE(told.r2.says_nothing());
  EXPECT_EQ(told.rmse.value, 0.0);
  EXPECT_TRUE(std::isfinite(told.r2.noise) && std::isfinite(told.rmse.noise));
}

TEST(EstimateNumbers, OfSeveralTargetsAreTheMeanAndTheRootOfTheMeanSquare) {
  const NumberFigures a{{0.5, 0.4, 0.6, 0.03, 0.05}, {3.0, 2.0, 4.0, 0.3, 0.5}};
  const NumberFigures b{{0.9, 0.8, 1.0, 0.04, 0.05}, {4.0, 3.0, 5.0, 0.4, 0.5}};
  const NumberFigures all = over_targets({a, b});
  EXPECT_NEAR(all.r2.value, 0.7, 1e-12);
  EXPECT_NEAR(all.r2.low, 0.6, 1e-12);
  EXPECT_NEAR(all.r2.noise, 0.025, 1e-12);
  EXPECT_NEAR(all.rmse.value, std::sqrt(12.5), 1e-12);
  EXPECT_NEAR(all.rmse.high, std::sqrt(20.5), 1e-12);
  EXPECT_EQ(over_targets({a}).r2.low, a.r2.low);
}

TEST(EstimateNumbers, GoWithTheScale) {
  const std::vector<double> sums{5000.0, 400.0, 900.0, 50.0, 300.0, 90.0, 3.0};
  const std::vector<double> sigmas(7, 20.0);
  const auto rmse_at = [&](double scale) {
    const NumberFigures one = estimate_numbers(sums, sigmas, scale, 0.95);
    return over_targets({one, one}).rmse;
  };
  const Estimate one = rmse_at(1.0);
  EXPECT_GT(one.deviation, 0.0);
  for (const double scale : {0x1p-60, 0x1p900}) {
    const Estimate scaled = rmse_at(scale);
    EXPECT_DOUBLE_EQ(scaled.value, scale * one.value);
    EXPECT_DOUBLE_EQ(scaled.deviation, scale * one.deviation);
    EXPECT_DOUBLE_EQ(scaled.noise, scale * one.noise);
  }
}

}  // namespace dpreduce::number_figures_test
