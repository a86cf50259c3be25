
#include <numbers>

#include "common/accounting/loss_spectrum.hpp"
#include "tests/testing.hpp"

namespace dpreduce::fourier_test {

TEST(FourierLength, IsTheLeastPowerOfTwoOrThreeTimesOne) {
  EXPECT_EQ(fourier_length(1), 2U);
  EXPECT_EQ(fourier_length(5), 6U);
  EXPECT_EQ(fourier_length(6), 6U);
  EXPECT_EQ(fourier_length(7), 8U);
  EXPECT_EQ(fourier_length(1025), 1536U);
  EXPECT_EQ(fourier_length(1537), 2048U);
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

TEST(RealFourierDeathTest, RefusesOddLengths) {
  EXPECT_ANY_THROW(RealFourier(7));
  EXPECT_ANY_THROW(RealFourier(0));
}

}  // namespace dpreduce::fourier_test
