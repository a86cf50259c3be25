#include "audit/confidence_bounds.hpp"

#include <boost/math/distributions/binomial.hpp>

#include "common/accounting/gaussian_dp.hpp"
#include "tests/testing.hpp"

namespace dpreduce::confidence_bounds_test {

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

TEST(BinomialBounds, HaveClosedFormsAtTheEndsAgreeWithTheTableAndRefuseTheImpossible) {
  EXPECT_EQ(binomial_lower_bound(0, 40, 0.01), 0.0);
  EXPECT_EQ(binomial_upper_bound(40, 40, 0.01), 1.0);
  EXPECT_NEAR(binomial_lower_bound(40, 40, 0.01), std::pow(0.01, 1.0 / 40), 1e-12);
  EXPECT_NEAR(binomial_upper_bound(0, 40, 0.01), 1.0 - std::pow(0.01, 1.0 / 40), 1e-12);
  EXPECT_NEAR(binomial_lower_bound(5, 10, 0.025), 0.1871, 5e-5);  // the textbook's 95 % interval for 5 of 10
  EXPECT_NEAR(binomial_upper_bound(5, 10, 0.025), 0.8129, 5e-5);
  EXPECT_THROW(binomial_lower_bound(1, 0, 0.1), std::logic_error);
  EXPECT_THROW(binomial_lower_bound(3, 2, 0.1), std::logic_error);
  EXPECT_THROW(binomial_upper_bound(1, 2, 0.0), std::logic_error);
  EXPECT_THROW(binomial_upper_bound(1, 2, 1.0), std::logic_error);
}

TEST(BinomialBounds, CoverTheTruthAsOftenAsTheySay) {
  constexpr std::size_t kTrials = 60;
  constexpr double kError = 0.05;
  for (const double p : {0.001, 0.03, 0.2, 0.5, 0.77, 0.999}) {
    const boost::math::binomial_distribution<> counts(kTrials, p);
    double too_high = 0.0;
    double too_low = 0.0;
    for (std::size_t k = 0; k <= kTrials; ++k) {
      const double mass = boost::math::pdf(counts, static_cast<double>(k));
      if (binomial_lower_bound(k, kTrials, kError) > p) too_high += mass;
      if (binomial_upper_bound(k, kTrials, kError) < p) too_low += mass;
    }
    EXPECT_LE(too_high, kError) << p;
    EXPECT_LE(too_low, kError) << p;
  }
}

TEST(EpsilonLowerBound, IsTheLogRatioOfTheRatesBoundsAndNothingWhereDeltaExplainsAll) {
  const AttackCounts counts{900, 1000, 30, 2000};
  const double low = binomial_lower_bound(900, 1000, 0.005);
  const double high = binomial_upper_bound(30, 2000, 0.005);
  EXPECT_DOUBLE_EQ(epsilon_lower_bound(counts, Side::kAccusals, 0.01, 0.01), std::log((low - 0.01) / high));
  const double low_denials = binomial_lower_bound(1970, 2000, 0.005);
  const double high_denials = binomial_upper_bound(100, 1000, 0.005);
  EXPECT_DOUBLE_EQ(epsilon_lower_bound(counts, Side::kDenials, 0.01, 0.01),
                   std::log((low_denials - 0.01) / high_denials));
  EXPECT_EQ(epsilon_lower_bound({50, 1000, 0, 1000}, Side::kAccusals, 0.1, 0.01), 0.0);
  EXPECT_EQ(epsilon_lower_bound({10, 1000, 10, 1000}, Side::kAccusals, 0.0, 0.01), 0.0);
  EXPECT_THROW(epsilon_lower_bound({1, 2, 1, 2}, Side::kAccusals, 1.0, 0.01), std::logic_error);
}

TEST(MuLowerBound, ApproachesTheTruthFromBelow) {
  for (const double mu : {0.2, 1.0, 3.0}) {
    constexpr std::size_t kManyRuns = 100'000'000;
    const auto expected = [](double p) { return static_cast<std::size_t>(p * kManyRuns); };
    const AttackCounts counts{expected(normal_cdf(mu / 2)), kManyRuns, expected(normal_cdf(-mu / 2)), kManyRuns};
    EXPECT_LT(mu_lower_bound(counts, 1e-3), mu);
    EXPECT_GT(mu_lower_bound(counts, 1e-3), mu - 2e-3);
  }
  EXPECT_EQ(mu_lower_bound({10, 100, 20, 100}, 0.1), 0.0);
}

TEST(Claim, AgreesWithTheAccountingThatItChecks) {
  for (const double epsilon : {0.01, 0.5, 1.0, 4.0, 20.0, 90.0}) {
    for (const double delta : {1e-3, 1e-5, 1e-9}) {
      const double mu = gdp_mu(epsilon, delta);
      EXPECT_NEAR(mu_of_claim(epsilon, delta) / mu, 1.0, 1e-6) << epsilon << " " << delta;
      EXPECT_NEAR(epsilon_of_mu(mu, delta) / epsilon, 1.0, 1e-5) << epsilon << " " << delta;
    }
  }
  EXPECT_EQ(epsilon_of_mu(0.0, 1e-5), 0.0);
  EXPECT_EQ(epsilon_of_mu(1e-7, 1e-5), 0.0);
  EXPECT_THROW(mu_of_claim(1.0, 0.0), std::logic_error);
  EXPECT_THROW(mu_of_claim(-1.0, 0.1), std::logic_error);
  EXPECT_THROW(epsilon_of_mu(-1.0, 0.1), std::logic_error);
}

}  // namespace dpreduce::confidence_bounds_test
