#include "common/ledger/evaluation_terms.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"
#include "worker/metrics/numbers.hpp"

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

NumberFigures told_of(const std::vector<double>& sums, const std::vector<double>& sigmas = std::vector(7, 0.0),
                      double scale = kScale) {
  return estimate_numbers(sums, sigmas, scale, 0.95);
}

TEST(EstimateNumbers, AreThoseOfTheSumsWithoutNoise) {
  std::mt19937 engine(3);
  const std::vector<double> sums = drawn_sums(engine, 5000);
  const NumberFigures exact = told_of(sums);
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
      const NumberFigures told = told_of(sums, std::vector(7, noise));
      wrong_r2 += told.r2.low > kTruth || told.r2.high < kTruth ? 1 : 0;
      wrong_rmse += told.rmse.low > kScale * kError || told.rmse.high < kScale * kError ? 1 : 0;
    }
    EXPECT_LE(wrong_r2, kRuns * 95 / 1000) << rows << " rows, noise " << noise;
    EXPECT_LE(wrong_rmse, kRuns * 95 / 1000) << rows << " rows, noise " << noise;
  }
}

// The standard error of a root mean square is sqrt((m4 - m2^2) / n) / (2 sqrt(m2)); of normal numbers sigma / sqrt(2
// n).
TEST(EstimateNumbers, ARootMeanSquareVariesAsItsFourthMomentSaysAndAsOfNormalNumbersAtLeast) {
  constexpr double kRows = 10000.0;
  const auto rmse = [&](double square, double fourth) {
    return told_of({kRows, 0.0, 0.05 * kRows, 0.0, 0.01 * kRows, square * kRows, fourth * kRows}).rmse;
  };
  const Estimate alike = rmse(0.04, 0.0016);  // all errors are .2: a sample that says less than there is
  EXPECT_NEAR(alike.deviation, kScale * 0.2 / std::sqrt(2.0 * kRows), 1e-6);
  EXPECT_NEAR(alike.high, kScale * std::sqrt(0.04 + 1.9599640 * 0.04 * std::sqrt(2.0 / kRows)), 1e-5);
  EXPECT_NEAR(alike.low, kScale * std::sqrt(0.04 - 1.9599640 * 0.04 * std::sqrt(2.0 / kRows)), 1e-5);
  const Estimate wild = rmse(0.04, 9.0 * 0.0016);
  EXPECT_NEAR(wild.deviation, kScale * 0.2 * std::sqrt(8.0 / kRows) / 2.0, 1e-6);
}

// Central moments, in two passes, of numbers with this mean.
struct Moments {
  double square = 0.0;
  double fourth = 0.0;
  // Of the mean square of so many numbers.
  double error(double count) const { return std::sqrt((fourth - square * square) / count); }
};

Moments moments_of(const std::vector<double>& values, double mean) {
  Moments moments;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) {
    moments.square += std::pow(value - mean, 2) / count;
    moments.fourth += std::pow(value - mean, 4) / count;
  }
  return moments;
}

// Rows with wild tails and a mean. An end is where |E - r V| comes to z sqrt(s_E^2 + r^2 s_V^2), here by halving.
TEST(EstimateNumbers, TheEndsOfR2AreThoseOfTheRatioThatMomentsAllow) {
  std::mt19937 engine(9);
  std::exponential_distribution<double> tail(9.0);
  std::vector<double> y;
  std::vector<double> e;
  std::vector<double> sums(7, 0.0);
  for (int row = 0; row < 3000; ++row) {
    const double sign = engine() % 2 == 0 ? 1.0 : -1.0;
    y.push_back(std::min(0.3 + tail(engine), 1.0));
    e.push_back(sign * std::min(0.5 * tail(engine), 1.0));
    for (std::size_t power = 0; power <= 4; ++power) sums[power] += std::pow(y.back(), power);
    sums[5] += std::pow(e.back(), 2);
    sums[6] += std::pow(e.back(), 4);
  }
  const NumberFigures told = told_of(sums);
  const Moments of_y = moments_of(y, sums[1] / 3000.0);
  const Moments of_e = moments_of(e, 0.0);
  ASSERT_GT(of_y.fourth, 3.5 * of_y.square * of_y.square) << "or the floor would be tested";
  ASSERT_GT(of_e.fourth, 3.5 * of_e.square * of_e.square);
  const double s_e = of_e.error(3000.0);
  const double s_v = of_y.error(3000.0);
  const auto end = [&](double outside) {
    double inside = of_e.square / of_y.square;
    for (int step = 0; step < 60; ++step) {
      const double r = 0.5 * (inside + outside);
      const bool is_in = std::abs(of_e.square - r * of_y.square) <= 1.9599640 * std::hypot(s_e, r * s_v);
      (is_in ? inside : outside) = r;
    }
    return 1.0 - inside;
  };
  EXPECT_NEAR(told.r2.low, end(2.0), 1e-6);
  EXPECT_NEAR(told.r2.high, end(0.0), 1e-6);
  EXPECT_NEAR(told.rmse.deviation, kScale * s_e / (2.0 * std::sqrt(of_e.square)), 1e-6);
}

// The same rows, noised afresh: how far figures then move is the noise they tell. A standard deviation of 2,000 draws
// is known to 1.6 %. R^2 tells up to twice as much where noise is most of all in the number of rows, which E and V
// share. False alarm below 1e-6.
TEST(EstimateNumbers, TheNoiseThatIsToldIsHowFarNoiseMovesThem) {
  std::mt19937 engine(11);
  std::normal_distribution<double> normal;
  const std::vector<double> sums = drawn_sums(engine, 5000);
  for (const std::vector<double>& sigmas :
       {std::vector{60.0, 1.0, 1.0, 1.0, 1.0, 8.0, 1.0}, std::vector{1.0, 60.0, 4.0, 1.0, 1.0, 4.0, 1.0},
        std::vector{250.0, 1.0, 8.0, 1.0, 1.0, 1.0, 1.0}, std::vector{1.0, 1.0, 12.0, 30.0, 30.0, 1.0, 30.0}}) {
    DrawnMoments r2;
    DrawnMoments rmse;
    for (int draw = 0; draw < 2000; ++draw) {
      std::vector<double> noised = sums;
      for (std::size_t sum = 0; sum < noised.size(); ++sum) noised[sum] += sigmas[sum] * normal(engine);
      const NumberFigures told = told_of(noised, sigmas);
      r2.add(told.r2.value);
      rmse.add(told.rmse.value);
    }
    const NumberFigures told = told_of(sums, sigmas);
    EXPECT_NEAR(told.rmse.noise / rmse.deviation(), 1.0, 0.08) << sigmas[0];
    const double ratio = told.r2.noise / r2.deviation();
    EXPECT_GT(ratio, 0.92) << sigmas[0] << " " << sigmas[1];
    EXPECT_LT(ratio, sigmas[0] > 100.0 ? 2.3 : 1.3) << sigmas[0] << " " << sigmas[1];
  }
}

TEST(EstimateNumbers, SayNothingOfASpreadThatMayBeNoneAndTakeAHiddenNumberOfRowsToBeTwiceItsNoise) {
  const NumberFigures hidden = told_of({-20.0, 0.0, 4.0, 0.0, 2.0, 8.0, 1.0}, std::vector(7, 40.0), 1.0);
  EXPECT_NEAR(hidden.rmse.value, std::sqrt(8.0 / 80.0), 1e-12);
  const NumberFigures told = told_of({90.0, 3.0, 12.0, 1.0, 5.0, -20.0, 5.0}, std::vector(7, 40.0), 1.0);
  EXPECT_EQ(told.r2.low, kLeastR2);
  EXPECT_EQ(told.r2.high, 1.0);
  EXPECT_TRUE(told.r2.is_uninformative());
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
  // Targets err together: deviations add up, d rmse = sum of rmse_t d rmse_t / (m rmse); noise is drawn for each.
  EXPECT_NEAR(all.r2.deviation, 0.05, 1e-12);
  EXPECT_NEAR(all.rmse.deviation, (3.0 * 0.5 + 4.0 * 0.5) / (2.0 * std::sqrt(12.5)), 1e-12);
  EXPECT_NEAR(all.rmse.noise, std::hypot(3.0 * 0.3, 4.0 * 0.4) / (2.0 * std::sqrt(12.5)), 1e-12);
  EXPECT_EQ(over_targets({a}).r2.low, a.r2.low);
}

TEST(EstimateNumbers, GoWithTheScale) {
  const auto rmse_at = [&](double scale) {
    const NumberFigures one = told_of({5000.0, 400.0, 900.0, 50.0, 300.0, 90.0, 3.0}, std::vector(7, 20.0), scale);
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
