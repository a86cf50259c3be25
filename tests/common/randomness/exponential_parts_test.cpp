// What the exponential mechanism is made of: exponentials between bounds, rates, and multiplicities.
#include <cfenv>

#include <boost/multiprecision/cpp_bin_float.hpp>

#include "common/base/error.hpp"
#include "common/randomness/certified_exp.hpp"
#include "common/randomness/exponential_mechanism.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::exponential_parts_test {

template <unsigned bits>
using RealOf =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<bits, boost::multiprecision::digit_base_2>,
                                  boost::multiprecision::et_off>;
using Real = RealOf<600>;
using LongReal = RealOf<1200>;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

void expect_enclosed(const BigInteger& numerator, unsigned scale_bits, unsigned bits) {
  const IntegerBounds bounds = exp_of_minus(numerator, scale_bits, bits);
  const LongReal truth = ldexp(exp(-ldexp(LongReal(numerator), -static_cast<int>(scale_bits))), static_cast<int>(bits));
  EXPECT_LE(LongReal(bounds.lower), truth) << numerator << " / 2^" << scale_bits << ", " << bits << " bits";
  EXPECT_GE(LongReal(bounds.upper), truth) << numerator << " / 2^" << scale_bits << ", " << bits << " bits";
  EXPECT_LE(bounds.upper - bounds.lower, 3);
  EXPECT_GE(bounds.lower, 0);
}

TEST(CertifiedExp, OfZeroIsOneAndOfLessRefused) {
  EXPECT_EQ(exp_of_minus(0, 5, 64).lower, BigInteger(1) << 64);
  EXPECT_EQ(exp_of_minus(0, 5, 64).upper, BigInteger(1) << 64);
  EXPECT_THROW(exp_of_minus(-1, 0, 64), std::logic_error);
}

TEST(CertifiedExp, EnclosesTheTruthWithinThreeUnits) {
  std::mt19937_64 random(1);
  for (const unsigned bits : {1u, 8u, 64u, 128u, 200u, 1000u}) {
    for (int sample = 0; sample < 100; ++sample) {
      const unsigned scale_bits = static_cast<unsigned>(random() % 120);
      expect_enclosed(BigInteger(random()) >> random() % 64, scale_bits, bits);
      expect_enclosed(BigInteger(random()) << 64 | random(), 100 + scale_bits / 2, bits);
    }
  }
}

TEST(CertifiedExp, EnclosesNearThePowersOfTwoWhereItsReductionChanges) {
  for (unsigned exponent = 0; exponent < 12; ++exponent) {
    const BigInteger power = BigInteger(1) << (exponent + 60);
    for (const int step : {-1, 0, 1}) expect_enclosed(power + step, 64, 128);
  }
}

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
  EXPECT_EQ(nearest_double(kMost), 0x1p64);
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

TEST(ExponentialDecay, IsExactlyOneAtZeroLessAtATinyExponentAndBelowOneUnitAtAHugeOne) {
  const IntegerBounds zero = ExponentialDecay({3, 7, 5}).bounds(0, 100);
  EXPECT_EQ(zero.lower, BigInteger(1) << 100);
  EXPECT_EQ(zero.upper, BigInteger(1) << 100);
  const IntegerBounds tiny = ExponentialDecay({1, 1, kMostRateScaleBits}).bounds(1, 64);
  EXPECT_LT(tiny.lower, BigInteger(1) << 64);
  EXPECT_EQ(tiny.upper, BigInteger(1) << 64);
  const IntegerBounds huge = ExponentialDecay({kMost, 1, 0}).bounds(kMost, 4096);
  EXPECT_EQ(huge.lower, 0);
  EXPECT_EQ(huge.upper, 1);
}

TEST(DecidingByDoubles, IsRefusedUnderAnotherRoundingMode) {
  EXPECT_TRUE(can_decide_by_doubles());
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const bool upward = can_decide_by_doubles();
  ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
  EXPECT_FALSE(upward);
}

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

TEST(SelectionRate, OfItsExtremesIsValidAndBeyondThemRefused) {
  for (const double epsilon : {kSmallestSelectionEpsilon, std::nextafter(kSmallestSelectionEpsilon, 1.0),
                               kLargestSelectionEpsilon, std::nextafter(kLargestSelectionEpsilon, 1.0)}) {
    EXPECT_NO_THROW(ExponentialDecay(selection_rate(epsilon, kMost, ScoreChange::kGeneral)));
  }
  for (const double epsilon :
       {0.0, -1.0, kSmallestSelectionEpsilon / 2, kLargestSelectionEpsilon * 2, kInfinity, kNan}) {
    EXPECT_THROW(selection_rate(epsilon, 1, ScoreChange::kMonotone), std::logic_error) << epsilon;
  }
  EXPECT_THROW(selection_rate(1, 0, ScoreChange::kMonotone), std::logic_error);
}

TEST(Multiplicities, HaveTheLeadingDigitsOfTheIntegers) {
  const std::vector<BigInteger> counts{1, 2, 3, 0, kMost, (BigInteger(1) << 53) + 1, (BigInteger(7) << 1000) + 5};
  const Multiplicities multiplicities(counts);
  ASSERT_EQ(multiplicities.size(), counts.size());
  for (std::size_t candidate = 0; candidate < counts.size(); ++candidate) {
    EXPECT_EQ(multiplicities[candidate], counts[candidate]);
    if (counts[candidate] == 0) continue;
    const double leading = multiplicities.leading(candidate);
    EXPECT_GE(leading, 1);
    EXPECT_LT(leading, 2);
    // m - leading * 2^exponent lies in [0, 2^(exponent - 52))
    const BigInteger digits = static_cast<std::uint64_t>(std::ldexp(leading, 52));
    const auto exponent = static_cast<unsigned>(multiplicities.exponent(candidate));
    const BigInteger error = (counts[candidate] << 52) - (digits << exponent);
    EXPECT_GE(error, 0);
    EXPECT_LT(error, BigInteger(1) << exponent);
  }
  EXPECT_EQ(multiplicities.leading(3), 0);
  EXPECT_EQ(multiplicities.exponent(3), -kInfinity);
  EXPECT_EQ(multiplicities.most_exponent(), 1002u);
}

TEST(Multiplicities, NegativeAndGiganticOnesAndSetsOfNoneAreRefused) {
  EXPECT_THROW(Multiplicities(std::vector<BigInteger>{1, -1}), std::logic_error);
  EXPECT_THROW(Multiplicities(std::vector<BigInteger>{BigInteger(1) << (1u << 20)}), UsageError);
  EXPECT_NO_THROW(Multiplicities(std::vector<BigInteger>{BigInteger(1) << ((1u << 20) - 1)}));
  EXPECT_THROW(Multiplicities::of_subsets_by_worst(3, 0), std::logic_error);
}

// Every subset of {0, ..., n-1} is counted once, at its largest element.
TEST(SubsetsByWorst, AreCountedAsEnumerationCountsThem) {
  constexpr unsigned kCandidates = 10;
  for (std::size_t size = 1; size <= kCandidates + 1; ++size) {
    std::vector<std::uint64_t> counts(kCandidates);
    for (unsigned set = 1; set < 1u << kCandidates; ++set) {
      if (static_cast<std::size_t>(std::popcount(set)) == size)
        ++counts[static_cast<unsigned>(std::bit_width(set)) - 1];
    }
    const Multiplicities multiplicities = Multiplicities::of_subsets_by_worst(kCandidates, size);
    for (std::size_t worst = 0; worst < kCandidates; ++worst) EXPECT_EQ(multiplicities[worst], counts[worst]);
  }
}

// sum_j C(j, K - 1) = C(n, K)
TEST(SubsetsByWorst, AddUpToAllSubsets) {
  BigInteger sum = 0;
  BigInteger all = 1;
  const Multiplicities multiplicities = Multiplicities::of_subsets_by_worst(5000, 40);
  for (std::size_t worst = 0; worst < 5000; ++worst) sum += multiplicities[worst];
  for (unsigned chosen = 0; chosen < 40; ++chosen) all = all * (5000 - chosen) / (chosen + 1);
  EXPECT_EQ(sum, all);
}

}  // namespace dpreduce::exponential_parts_test
