#include <cfenv>

#include <boost/multiprecision/cpp_bin_float.hpp>

#include "common/base/error.hpp"
#include "common/randomness/exponential_mechanism.hpp"
#include "tests/testing.hpp"

namespace dpreduce::exponential_decay_test {

using Real =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<600, boost::multiprecision::digit_base_2>,
                                  boost::multiprecision::et_off>;

Real exact_exponent(const SelectionRate& rate, std::uint64_t distance) {
  return ldexp(Real(rate.numerator) / Real(rate.denominator), -static_cast<int>(rate.scale_bits)) * Real(distance);
}

SelectionRate random_rate(std::mt19937_64& random) {
  return {(random() >> random() % 64) | 1, (random() >> random() % 64) | 1, static_cast<unsigned>(random() % 100)};
}

TEST(NearestDouble, IsTheRoundedInteger) {
  std::mt19937_64 random(1);
  for (int sample = 0; sample < 10000; ++sample) {
    const std::uint64_t value = random() >> random() % 64;
    EXPECT_EQ(nearest_double(value), static_cast<double>(value));
  }
  EXPECT_EQ(nearest_double(0), 0);
  EXPECT_EQ(nearest_double(std::numeric_limits<std::uint64_t>::max()), 0x1p64);
}

TEST(PowerOfHalf, StaysWithinItsBound) {
  std::mt19937_64 random(2);
  const auto expect_close = [](double x) {
    const Real truth = exp(-Real(x) * log(Real(2)));
    EXPECT_LE(abs(Real(power_of_half(x)) / truth - 1), Real(kPowerRoundoffs * kUnitRoundoff)) << x;
  };
  for (int sample = 0; sample < 5000; ++sample) expect_close(std::ldexp(static_cast<double>(random()), -57));
  for (int whole = 0; whole < 100; ++whole) {
    for (const double f : {0.0, 0x1p-40, 0.25, std::nextafter(0.5, 0.0), 0.5, std::nextafter(0.5, 1.0), 0.75}) {
      expect_close(whole + f);
    }
  }
  expect_close(kMostHalvings);
  expect_close(1000);
}

TEST(ExponentialDecay, HalvingsStayWithinTheirBound) {
  std::mt19937_64 random(3);
  for (int sample = 0; sample < 3000; ++sample) {
    const SelectionRate rate = random_rate(random);
    const std::uint64_t distance = (random() >> random() % 64) | 1;
    const Real truth = exact_exponent(rate, distance) / log(Real(2));
    const Real relative = abs(Real(ExponentialDecay(rate).halvings(distance)) / truth - 1);
    EXPECT_LE(relative, Real(kHalvingsRoundoffs * kUnitRoundoff));
  }
}

TEST(ExponentialDecay, BoundsEncloseTheTruthWithinFourUnits) {
  std::mt19937_64 random(4);
  for (const unsigned bits : {1u, 64u, 192u, 500u}) {
    for (int sample = 0; sample < 200; ++sample) {
      const SelectionRate rate = random_rate(random);
      const std::uint64_t distance = random() >> random() % 64;
      if (exact_exponent(rate, distance) > 1e6) continue;
      const Real truth = ldexp(exp(-exact_exponent(rate, distance)), static_cast<int>(bits));
      const IntegerBounds bounds = ExponentialDecay(rate).bounds(distance, bits);
      EXPECT_LE(Real(bounds.lower), truth * (1 + ldexp(Real(1), -590)));
      EXPECT_GE(Real(bounds.upper), truth * (1 - ldexp(Real(1), -590)));
      EXPECT_LE(bounds.upper - bounds.lower, 4);
      EXPECT_GE(bounds.lower, 0);
    }
  }
}

TEST(ExponentialDecay, OfDistanceZeroIsExactlyOne) {
  const IntegerBounds bounds = ExponentialDecay({3, 7, 5}).bounds(0, 100);
  EXPECT_EQ(bounds.lower, BigInteger(1) << 100);
  EXPECT_EQ(bounds.upper, BigInteger(1) << 100);
}

TEST(ExponentialDecay, OfATinyExponentIsNotOne) {
  const IntegerBounds bounds = ExponentialDecay({1, 1, kMostRateScaleBits}).bounds(1, 64);
  EXPECT_LT(bounds.lower, BigInteger(1) << 64);
  EXPECT_EQ(bounds.upper, BigInteger(1) << 64);
}

TEST(ExponentialDecay, OfAHugeExponentIsBelowOneUnit) {
  const auto most = std::numeric_limits<std::uint64_t>::max();
  const IntegerBounds bounds = ExponentialDecay({most, 1, 0}).bounds(most, 4096);
  EXPECT_EQ(bounds.lower, 0);
  EXPECT_EQ(bounds.upper, 1);
}

TEST(ExponentialDecay, InvalidRateIsRefused) {
  EXPECT_THROW(ExponentialDecay({0, 1, 0}), UsageError);
  EXPECT_THROW(ExponentialDecay({1, 0, 0}), UsageError);
}

TEST(DecidingByDoubles, IsRefusedUnderAnotherRoundingMode) {
  EXPECT_TRUE(can_decide_by_doubles());
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const bool upward = can_decide_by_doubles();
  ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
  EXPECT_FALSE(upward);
}

}  // namespace dpreduce::exponential_decay_test
