#include "common/accounting/loss_spectrum.hpp"

#include <numbers>

#include "tests/testing.hpp"

namespace dpreduce::loss_spectrum_test {

LossGrid small_grid(std::vector<double> mass) {
  LossGrid grid;
  grid.step = 0.25;
  grid.first = -1;
  grid.mass = std::move(mass);
  return grid;
}

// By the definition: repeated convolution modulo n, in long double.
std::vector<long double> convolved(const TiltedLoss& loss, std::uint64_t count, std::size_t n) {
  std::vector<long double> sum(n);
  sum[0] = 1;
  for (std::uint64_t step = 0; step < count; ++step) {
    std::vector<long double> next(n);
    for (std::size_t s = 0; s < n; ++s) {
      for (std::size_t index = 0; index < loss.mass.size(); ++index) {
        const auto distance = static_cast<std::int64_t>(index) + loss.first - loss.peak + static_cast<std::int64_t>(n);
        next[(s + static_cast<std::size_t>(distance)) % n] += sum[s] * static_cast<long double>(loss.mass[index]);
      }
    }
    sum = std::move(next);
  }
  return sum;
}

void expect_sum(const LossGrid& grid, double tilt, std::uint64_t count, std::size_t n, double largest_error) {
  SCOPED_TRACE(testing::Message() << "tilt " << tilt << " count " << count);
  RealFourier fourier(n);
  LossSpectrum spectrum(n);
  const TiltedLoss loss = tilted(grid, tilt);
  spectrum.add(fourier, loss, count);
  const LossSpectrum::Sum sum = spectrum.sum(fourier);
  const std::vector<long double> expected = convolved(loss, count, n);
  long double squared_error = 0;
  for (std::size_t index = 0; index < n; ++index) {
    const long double slack = spectrum.relative_error() * expected[index];
    const long double error = std::max(0.0L, std::abs(sum.mass[index] - expected[index]) - slack);
    squared_error += error * error;
  }
  EXPECT_LE(static_cast<double>(std::sqrt(squared_error)), sum.l2_error);
  EXPECT_LE(sum.l2_error, largest_error);
  EXPECT_EQ(spectrum.peak(), static_cast<std::int64_t>(count) * loss.peak);
}

TEST(TiltedLoss, HasSumOneAndItsMoment) {
  const LossGrid grid = small_grid({0.2, 0.5, 0.3});
  const TiltedLoss loss = tilted(grid, 2);
  const double moment = 0.2 * std::exp(-0.5) + 0.5 + 0.3 * std::exp(0.5);
  EXPECT_NEAR(loss.log_moment, std::log(moment), 1e-15);
  EXPECT_NEAR(log_moment(grid, 2), std::log(moment), 1e-15);
  EXPECT_NEAR(loss.mass[2], 0.3 * std::exp(0.5) / moment, 1e-15);
  EXPECT_EQ(loss.peak, 0);
  EXPECT_EQ(loss.largest_loss, 0.25);
}

TEST(TiltedLoss, SurvivesWeightsBeyondTheRangeOfDouble) {
  LossGrid grid = small_grid({1, 0, 1e-300});
  grid.step = 100;
  const TiltedLoss loss = tilted(grid, 10);
  EXPECT_NEAR(loss.log_moment, 1000 - 300 * std::log(10.0), 1e-9);
  EXPECT_EQ(loss.peak, 1);
}

TEST(LossSpectrum, SumsAgreeWithConvolutionsWithinTheStatedError) {
  std::vector<double> spread(60);
  for (std::size_t index = 0; index < spread.size(); ++index) {
    spread[index] = 1 + std::sin(static_cast<double>(index));
  }
  for (const std::uint64_t count : {1U, 2U, 3U, 40U}) {
    expect_sum(small_grid({0.2, 0.5, 0.3}), 0.7, count, 64, 1e-12);
    expect_sum(small_grid({0.999999, 5e-7, 5e-7}), 0.1, count, 64, 1e-14);
    expect_sum(small_grid({0, 1, 0}), 1, count, 64, 1e-14);
    expect_sum(small_grid({1, 0, 1}), 0, count, 64, 1e-12);  // a spectrum with zeros
    expect_sum(small_grid(spread), 0.02, count, 512, 1e-11);
  }
}

// Rare large losses, many times: the error grows with what is rare, not with the count.
TEST(LossSpectrum, RareLossesKeepTheErrorSmallOverManySteps) {
  std::vector<double> rare(200, 1e-9);
  rare[3] = 0.3;
  rare[4] = 0.6;
  rare[5] = 0.0999998;
  expect_sum(small_grid(rare), 0, 300, 1024, 1e-13);
  std::vector<double> rarer(200, 1e-12);
  rarer[1] = 1;
  expect_sum(small_grid(rarer), 0, 300, 1024, 1e-15);
}

TEST(LossSpectrum, DifferentLossesMultiply) {
  RealFourier fourier(64);
  LossSpectrum both(64);
  const TiltedLoss loss = tilted(small_grid({0.2, 0.5, 0.3}), 0);
  both.add(fourier, loss, 2);
  both.add(fourier, loss, 3);
  const LossSpectrum::Sum sum = both.sum(fourier);
  const std::vector<long double> expected = convolved(loss, 5, 64);
  for (std::size_t index = 0; index < 64; ++index)
    EXPECT_NEAR(sum.mass[index], static_cast<double>(expected[index]), 1e-15);
}

TEST(LossSpectrum, RefusesNoRepetitionAndOddLengths) {
  RealFourier fourier(64);
  LossSpectrum spectrum(64);
  EXPECT_ANY_THROW(spectrum.add(fourier, tilted(small_grid({1, 1, 1}), 0), 0));
  for (const std::size_t length : {7U, 0U}) EXPECT_ANY_THROW(RealFourier{length}) << length;
}

TEST(FourierLength, IsTheLeastPowerOfTwoOrThreeTimesOne) {
  const std::vector<std::pair<std::size_t, std::size_t>> known{{1, 2}, {5, 6},       {6, 6},
                                                               {7, 8}, {1025, 1536}, {1537, 2048}};
  for (const auto& [n, length] : known) EXPECT_EQ(fourier_length(n), length) << n;
  for (std::size_t n = 1; n < 3000; ++n) {
    EXPECT_GE(fourier_length(n), n);
    EXPECT_EQ(fourier_length(n) % 2, 0U);
  }
}

// Against the definition, in long double: within the error that the class states.
TEST(RealFourier, ForwardAndBackwardKeepTheirErrorBound) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const std::size_t n : {2U, 6U, 64U, 96U, 512U}) {
    RealFourier fourier(n);
    std::vector<double> x(n);
    for (std::size_t index = 0; index < n; ++index) fourier.values()[index] = x[index] = uniform(random);
    fourier.forward();
    long double squared_error = 0;
    long double squared_norm = 0;
    for (std::size_t mode = 0; mode <= n / 2; ++mode) {
      std::complex<long double> expected = 0;
      for (std::size_t index = 0; index < n; ++index) {
        const long double angle =
            -2 * std::numbers::pi_v<long double> * static_cast<long double>((mode * index) % n) / n;
        expected += static_cast<long double>(x[index]) * std::complex<long double>(std::cos(angle), std::sin(angle));
      }
      squared_error += std::norm(std::complex<long double>(fourier.coefficients()[mode]) - expected);
      squared_norm += std::norm(expected);
    }
    EXPECT_LE(std::sqrt(squared_error), fourier.relative_error() * std::sqrt(squared_norm));
    fourier.backward();
    for (std::size_t index = 0; index < n; ++index) {
      EXPECT_NEAR(fourier.values()[index], static_cast<double>(n) * x[index], 1e-12 * static_cast<double>(n));
    }
  }
}

TEST(RealFourier, TwoTransformsGiveTheSameBits) {
  RealFourier first(1536);
  RealFourier second(1536);
  for (std::size_t index = 0; index < 1536; ++index) {
    first.values()[index] = second.values()[index] = std::sin(static_cast<double>(index * index));
  }
  first.forward();
  second.forward();
  for (std::size_t mode = 0; mode < first.coefficients().size(); ++mode) {
    ASSERT_EQ(first.coefficients()[mode], second.coefficients()[mode]);
  }
}

}  // namespace dpreduce::loss_spectrum_test
