#include "common/base/error.hpp"
#include "common/randomness/certified_exp.hpp"
#include "common/randomness/exponential_mechanism.hpp"
#include "tests/testing.hpp"

namespace dpreduce::selection_rate_test {

// numerator / (denominator * 2^scale_bits) == epsilon / divisor, with epsilon = mantissa * 2^-places exactly
void expect_exact(const SelectionRate& rate, double epsilon, const BigInteger& divisor) {
  constexpr int kPlaces = 120;
  int exponent = 0;
  const double fraction = std::frexp(epsilon, &exponent);
  const BigInteger scaled = BigInteger(static_cast<std::uint64_t>(std::ldexp(fraction, 53)))
                            << (exponent - 53 + kPlaces);
  EXPECT_EQ((BigInteger(rate.numerator) * divisor) << kPlaces, (scaled * rate.denominator) << rate.scale_bits)
      << epsilon << " / " << divisor;
}

TEST(SelectionRate, IsTheExactQuotientOfTheDoubleAndTheSensitivity) {
  std::mt19937_64 random(1);
  for (int sample = 0; sample < 1000; ++sample) {
    const double epsilon =
        std::ldexp(1.0 + std::ldexp(static_cast<double>(random() >> 12), -52), static_cast<int>(random() % 80) - 60);
    const std::uint64_t sensitivity = (random() >> random() % 64) | 1;
    expect_exact(selection_rate(epsilon, sensitivity, ScoreChange::kMonotone), epsilon, sensitivity);
    expect_exact(selection_rate(epsilon, sensitivity, ScoreChange::kGeneral), epsilon, BigInteger(sensitivity) * 2);
  }
  for (const double epsilon : {0.1, 0.5, 1.0, 2.0, 3.0, kSmallestSelectionEpsilon, kLargestSelectionEpsilon}) {
    expect_exact(selection_rate(epsilon, 1, ScoreChange::kMonotone), epsilon, 1);
    expect_exact(selection_rate(epsilon, 32767, ScoreChange::kGeneral), epsilon, 65534);
  }
}

TEST(SelectionRate, OfItsExtremesIsValid) {
  const auto most = std::numeric_limits<std::uint64_t>::max();
  for (const double epsilon : {kSmallestSelectionEpsilon, std::nextafter(kSmallestSelectionEpsilon, 1.0),
                               kLargestSelectionEpsilon, std::nextafter(kLargestSelectionEpsilon, 1.0)}) {
    EXPECT_NO_THROW(require_valid(selection_rate(epsilon, most, ScoreChange::kGeneral)));
  }
}

TEST(SelectionRate, EpsilonOutOfRangeIsRefused) {
  for (const double epsilon : {0.0, -1.0, kSmallestSelectionEpsilon / 2, kLargestSelectionEpsilon * 2,
                               std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(selection_rate(epsilon, 1, ScoreChange::kMonotone), UsageError) << epsilon;
  }
}

TEST(SelectionRate, SensitivityZeroIsRefused) {
  EXPECT_THROW(selection_rate(1, 0, ScoreChange::kMonotone), UsageError);
}

TEST(SelectionRate, InvalidRatesAreRefused) {
  EXPECT_THROW(require_valid({0, 1, 0}), UsageError);
  EXPECT_THROW(require_valid({1, 0, 0}), UsageError);
  EXPECT_THROW(require_valid({1, 1, kMostRateScaleBits + 1}), UsageError);
  EXPECT_NO_THROW(require_valid({1, 1, kMostRateScaleBits}));
}

}  // namespace dpreduce::selection_rate_test
