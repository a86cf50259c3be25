
#include "common/accounting/gaussian_dp.hpp"
#include "common/base/error.hpp"
#include "tests/common/accounting/hockey_stick.hpp"
#include "tests/testing.hpp"

namespace dpreduce::attack_bound_test {

// Phi(Phi^-1(0.01) + 1) and Phi(1/2), computed with 40 digits.
TEST(AttackBound, AgreesWithTheNormalTables) {
  EXPECT_NEAR(gdp_attack_power(1, 0.01), 0.092362248073739359, 1e-12);
  EXPECT_NEAR(gdp_even_odds_accuracy(1), 0.69146246127401310, 1e-12);
}

TEST(AttackBound, IsBlindGuessingWithoutALeakAndCertaintyWithAGreatOne) {
  EXPECT_NEAR(gdp_attack_power(1e-12, 0.01), 0.01, 1e-11);
  EXPECT_NEAR(gdp_even_odds_accuracy(1e-12), 0.5, 1e-11);
  EXPECT_EQ(gdp_attack_power(1000, 0.01), 1);
  EXPECT_EQ(gdp_even_odds_accuracy(1000), 1);
  EXPECT_NEAR(attack_power(0, 1e-9, 0.01), 0.01, 1e-8);
  EXPECT_EQ(attack_power(1e5, 1e-9, 0.01), 1);
  EXPECT_NEAR(attack_power(1, 0, 0.01), 0.01 * std::exp(1.0), 1e-12);  // pure
  EXPECT_EQ(attack_power(1, 0.99, 0.9), 1);
}

// mu-GDP is the intersection of its (epsilon, delta) guarantees: none of them may allow less, and the best one allows
// no more.
TEST(AttackBound, TheGaussianCurveIsTheEnvelopeOfItsLines) {
  for (const double mu : {0.1, 0.5, 1.0, 3.0}) {
    for (const double alpha : {1e-4, 0.01, 0.3}) {
      const double power = gdp_attack_power(mu, alpha);
      double least = 1;
      for (double epsilon = 0; epsilon < 8 * mu + 1; epsilon += mu / 50) {
        const double line = attack_power(epsilon, gaussian_delta(epsilon, mu), alpha);
        ASSERT_GE(line, power * (1 - 1e-9)) << mu << " " << alpha << " " << epsilon;
        least = std::min(least, line);
      }
      EXPECT_NEAR(least, power, 1e-4 * mu);
    }
  }
}

TEST(AttackBound, ArgumentsOutsideTheirRangeAreRefused) {
  for (const double bad : {0.0, -1.0, std::nan("")}) {
    EXPECT_THROW(gdp_attack_power(bad, 0.01), UsageError);
    EXPECT_THROW(gdp_even_odds_accuracy(bad), UsageError);
    EXPECT_THROW(gdp_attack_power(1, bad), UsageError);
    EXPECT_THROW(attack_power(1, 1e-5, bad), UsageError);
  }
  EXPECT_THROW(attack_power(-1, 1e-5, 0.01), UsageError);
  for (const double bad : {-1.0, 1.0, std::nan("")}) EXPECT_THROW(attack_power(1, bad, 0.01), UsageError);
  EXPECT_THROW(gdp_attack_power(1, 1), UsageError);
}

}  // namespace dpreduce::attack_bound_test
