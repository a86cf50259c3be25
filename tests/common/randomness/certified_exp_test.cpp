#include "common/randomness/certified_exp.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>

#include "tests/testing.hpp"

namespace dpreduce::certified_exp_test {

using Real =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<1200, boost::multiprecision::digit_base_2>,
                                  boost::multiprecision::et_off>;

void expect_enclosed(const BigInteger& numerator, unsigned scale_bits, unsigned bits) {
  const IntegerBounds bounds = exp_of_minus(numerator, scale_bits, bits);
  const Real truth = ldexp(exp(-ldexp(Real(numerator), -static_cast<int>(scale_bits))), static_cast<int>(bits));
  EXPECT_LE(Real(bounds.lower), truth) << numerator << " / 2^" << scale_bits << ", " << bits << " bits";
  EXPECT_GE(Real(bounds.upper), truth) << numerator << " / 2^" << scale_bits << ", " << bits << " bits";
  EXPECT_LE(bounds.upper - bounds.lower, 3);
  EXPECT_GE(bounds.lower, 0);
}

TEST(CertifiedExp, OfZeroIsOne) {
  EXPECT_EQ(exp_of_minus(0, 5, 64).lower, BigInteger(1) << 64);
  EXPECT_EQ(exp_of_minus(0, 5, 64).upper, BigInteger(1) << 64);
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

TEST(CertifiedExp, NegativeArgumentIsRefused) {
  EXPECT_THROW(exp_of_minus(-1, 0, 64), std::logic_error);
}

}  // namespace dpreduce::certified_exp_test
