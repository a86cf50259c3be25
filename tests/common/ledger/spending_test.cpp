#include "common/ledger/spending.hpp"

#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/privacy_loss.hpp"
#include "common/base/error.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::spending_test {

constexpr double kDelta = 1e-6;

// One mechanism beside Gaussians of that mu.
Spending beside(double mu, const Mechanism& mechanism, std::uint64_t count = 1) {
  return {.mu = mu, .selections = {{mechanism, count}}};
}

TEST(Spending, GaussiansAloneHaveTheExactEpsilonAndNothingHasNone) {
  EXPECT_EQ(epsilon_of(Spending{}, kDelta), 0);
  EXPECT_EQ(rho_of(Spending{}), 0);
  EXPECT_EQ(epsilon_of({.mu = 0.7, .selections = {}}, kDelta), gdp_epsilon(0.7, kDelta));
  EXPECT_EQ(epsilon_of({.mu = 2 * kLargestMu, .selections = {}}, kDelta), kInfinity);
}

TEST(Spending, OneSelectionHasItsSingleUseEpsilon) {
  const double exact = selection_charge(1.0, kDelta).epsilon;
  const double epsilon = epsilon_of(beside(0, ExponentialMechanism{1.0}), kDelta);
  EXPECT_GE(epsilon, exact * (1 - 1e-12));
  EXPECT_LE(epsilon, 1.0);
  EXPECT_NEAR(epsilon, exact, 1e-4);
}

TEST(Spending, MixedIsTheBoundOfThePrivacyLossDistribution) {
  const std::vector<RepeatedMechanism> run{{ExponentialMechanism{0.5}, 1}, {GaussianMechanism{1 / 0.3}, 1}};
  const PrivacyLossBounds bounds = pld_epsilon(run, kDelta);
  const double epsilon = epsilon_of(beside(0.3, ExponentialMechanism{0.5}), kDelta);
  EXPECT_GE(epsilon, bounds.lower);
  EXPECT_NEAR(epsilon, bounds.upper, 1e-6 * bounds.upper);
}

TEST(Spending, PureDpCostsMoreThanTheExponentialMechanism) {
  EXPECT_GT(epsilon_of(beside(0.1, PureMechanism{0.1}, 100), kDelta),
            1.5 * epsilon_of(beside(0.1, ExponentialMechanism{0.1}, 100), kDelta));
}

TEST(Spending, TheLastDigitsOfMuDoNotCountBesideSelections) {
  Spending spending = beside(0.3, ExponentialMechanism{0.5});
  const double epsilon = epsilon_of(spending, kDelta);
  for (int ulp = 0; ulp < 8; ++ulp) spending.mu = std::nextafter(spending.mu, 1);
  EXPECT_EQ(epsilon_of(spending, kDelta), epsilon);
  spending.mu = 0.3 * (1 + 1e-6);
  EXPECT_GT(epsilon_of(spending, kDelta), epsilon);
}

TEST(Spending, BeyondTheAccountantsRangesItIsInfinite) {
  EXPECT_EQ(epsilon_of(beside(101, ExponentialMechanism{0.5}), kDelta), kInfinity);
  EXPECT_EQ(epsilon_of(beside(0, PureMechanism{400}), kDelta), kInfinity);
  const RepeatedMechanism loud = sampled_rounds(101, 0.1, 1, Adjacency::kAddRemove, Adjacency::kAddRemove);
  EXPECT_EQ(epsilon_of({.mu = 0, .selections = {}, .samples = {loud}}, kDelta), kInfinity);
  EXPECT_LT(epsilon_of(beside(1e-15, PureMechanism{1}), kDelta), 1.0001);
  EXPECT_THROW(epsilon_of(beside(0, PureMechanism{1}), 1e-300), UsageError);
}

TEST(Spending, AddsUpInRhoAndComposed) {
  const Spending spending{.mu = 0.5, .selections = {{ExponentialMechanism{2}, 3}, {PureMechanism{1}, 2}}};
  EXPECT_GE(rho_of(spending), 0.125 + 1.5 + 1);
  EXPECT_NEAR(rho_of(spending), 0.125 + 1.5 + 1, 1e-14);
  const Spending both = composed(beside(3, PureMechanism{1}), beside(4, ExponentialMechanism{2}));
  EXPECT_NEAR(both.mu, 5, 1e-14);
  EXPECT_EQ(both.selections.size(), 2u);
  EXPECT_FALSE(both.is_gaussian());
}

TEST(Spending, OfAPlanIsItsMuAndItsSelections) {
  const SelectionTerms terms{.epsilon = 0.5, .candidates = 9};
  NoisePlan plan =
      make_noise_plan(0.4, Adjacency::kAddRemove,
                      {{.name = "sums", .share = 1, .blocks = {{"sum", 3, 1}}, .profiles = {{"row", {4}}}}});
  plan = with_selections(plan, {{"choice", terms}});
  const Spending planned = spending_of(plan);
  EXPECT_EQ(planned.mu, plan.mu);
  ASSERT_EQ(planned.selections.size(), 1u);
  EXPECT_EQ(std::get<ExponentialMechanism>(planned.selections[0].mechanism).epsilon, 0.5);
}

TEST(Spending, AnAccountedNoiseMultiplierIsNeverAboveTheTrueOne) {
  for (const double mu : {0.1, 1.0 / 3.0, 1.0, 7.3, 1e-12}) {
    EXPECT_LE(accounted_noise_multiplier(mu), 1 / mu);
    EXPECT_GE(accounted_noise_multiplier(mu), std::min(kLargestNoiseMultiplier, (1 - 1.2e-7) / mu));
  }
  // The nearest float is above the true one in about half of the cases.
  for (double mu = 0.01; mu < 20.0; mu *= 1.37) EXPECT_LE(accounted_noise_multiplier(mu), 1 / mu) << mu;
}

}  // namespace dpreduce::spending_test
