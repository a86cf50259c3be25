#include "common/randomness/exact_rounding.hpp"

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::exact_rounding_test {

TEST(ExactSigma, IsTheDoubleItself) {
  for (const double sigma : {0.5, 0.7, 1.0, 1.5, 3.141592653589793, 0x1p20, 0x1.fffffffffffffp44, 0x1p45}) {
    const ExactSigma exact = exact_sigma(sigma);
    EXPECT_EQ(std::ldexp(static_cast<double>(exact.mantissa), -static_cast<int>(exact.scale_bits)), sigma);
    EXPECT_GE(exact.mantissa, std::uint64_t{1} << 52);
    EXPECT_LT(exact.mantissa, std::uint64_t{1} << 53);
  }
}

TEST(ExactSigma, OutOfRangeIsRefused) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double sigma : {0.0, -1.0, std::nextafter(0.5, 0.0), std::nextafter(0x1p45, kInfinity), kInfinity,
                             -kInfinity, std::numeric_limits<double>::quiet_NaN(), 5e-324}) {
    EXPECT_THROW(exact_sigma(sigma), UsageError) << sigma;
  }
}

TEST(ExactSigma, ErrorNamesTheValueAndTheRange) {
  try {
    exact_sigma(0.25);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("sigma = 0.25"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("0.5"), std::string::npos) << error.what();
  }
}

TEST(RoundProduct, DecidesOnlyWhenTheWholeIntervalRoundsAlike) {
  const ExactSigma one = exact_sigma(1.0);
  EXPECT_EQ(round_product(one, 0, 1, 1), 0) << "[0, 1/2)";
  EXPECT_EQ(round_product(one, 0, 1, 0), std::nullopt) << "[0, 1)";
  EXPECT_EQ(round_product(one, 1, 2, 1), 1) << "[1/2, 1)";
  EXPECT_EQ(round_product(one, 1, 3, 1), 1) << "[1/2, 3/2)";
  EXPECT_EQ(round_product(one, 4, 13, 3), std::nullopt) << "[1/2, 13/8)";
  EXPECT_EQ(round_product(one, 3, 5, 3), std::nullopt) << "[3/8, 5/8)";
}

TEST(RoundProduct, ScalesBySigmaWithoutRounding) {
  const double sigma = 1.0 + 0x1p-52;  // sigma * 3/2 is just above the half 3/2
  EXPECT_EQ(round_product(exact_sigma(sigma), BigInteger(3) << 99, (BigInteger(3) << 99) + 1, 100), 2);
  EXPECT_EQ(round_product(exact_sigma(1.0 - 0x1p-53), BigInteger(3) << 99, (BigInteger(3) << 99) + 1, 100), 1);
  EXPECT_EQ(round_product(exact_sigma(0x1p45), 12, 13, 0), std::nullopt);
  EXPECT_EQ(round_product(exact_sigma(0x1p45), BigInteger(12) << 60, (BigInteger(12) << 60) + 1, 60),
            std::int64_t{12} << 45);
}

TEST(RoundProduct, EmptyOrNegativeIntervalIsRefused) {
  EXPECT_THROW(round_product(exact_sigma(1.0), 5, 5, 0), std::logic_error);
  EXPECT_THROW(round_product(exact_sigma(1.0), -1, 5, 0), std::logic_error);
}

TEST(RoundProduct, ResultThatDoesNotFitIsRefused) {
  const BigInteger large = BigInteger(1) << 64;
  EXPECT_THROW(round_product(exact_sigma(1.0), large << 8, (large << 8) + 1, 8), std::logic_error);
}

}  // namespace dpreduce::exact_rounding_test
