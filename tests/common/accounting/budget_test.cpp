#include "common/accounting/budget.hpp"

#include <nlohmann/json.hpp>

#include "common/accounting/gaussian_dp.hpp"
#include "common/base/error.hpp"
#include "tests/common/accounting/hockey_stick.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::budget_test {

constexpr Accountant kAccountants[] = {Accountant::kGdp, Accountant::kZcdp, Accountant::kRdp, Accountant::kPld};

TEST(PrivacyBudget, EpsilonAndDeltaGiveTheExactMu) {
  for (const Accountant accountant : kAccountants) {
    const BudgetOptions budget{{.epsilon = 1, .delta = 1e-5}, accountant};
    const double mu = mu_of(budget);
    const bool is_exact = accountant == Accountant::kGdp || accountant == Accountant::kPld;
    EXPECT_EQ(mu == gdp_mu(1, 1e-5), is_exact);
    EXPECT_EQ(guarantee_of(budget, mu).epsilon, 1);
    EXPECT_EQ(guarantee_of(budget, mu).delta, 1e-5);
  }
}

// Sigma through the tight zCDP conversion at (1, 1e-6): 7% more than exact.
TEST(PrivacyBudget, ZcdpAndRdpAccountantsAskForMoreNoise) {
  const auto mu = [](Accountant accountant) { return mu_of(BudgetOptions{{.epsilon = 1, .delta = 1e-6}, accountant}); };
  EXPECT_NEAR(mu(Accountant::kGdp) / mu(Accountant::kZcdp), 1.07, 0.005);
  EXPECT_EQ(mu(Accountant::kZcdp), mu(Accountant::kRdp));
}

TEST(PrivacyBudget, RhoGivesMuWithEveryAccountant) {
  const double mu = mu_from_zcdp(0.1);
  const auto guarantee = [&](Accountant accountant) {
    const BudgetOptions budget{{.rho = 0.1}, accountant};
    EXPECT_EQ(mu_of(budget), mu);
    return guarantee_of(budget, mu);
  };
  for (const Accountant accountant : kAccountants) EXPECT_EQ(guarantee(accountant).delta, kReportedDelta);
  EXPECT_EQ(guarantee(Accountant::kGdp).epsilon, gdp_epsilon(mu, kReportedDelta));
  EXPECT_EQ(guarantee(Accountant::kZcdp).epsilon, epsilon_from_zcdp_tight(zcdp_from_mu(mu), kReportedDelta));
}

TEST(PrivacyBudget, MuIsTakenAsItIsAndReportedAtADeltaInRange) {
  for (const Accountant accountant : kAccountants) EXPECT_EQ(mu_of(BudgetOptions{{.mu = 0.3}, accountant}), 0.3);
  EXPECT_EQ(guarantee_of(BudgetOptions{{.delta = 1e-6, .mu = 0.3}}, 0.3).epsilon, gdp_epsilon(0.3, 1e-6));
  for (const double delta : {0.0, 1.0, kNan}) {
    EXPECT_THROW(guarantee_of(BudgetOptions{{.delta = delta, .mu = 0.3}}, 0.3), UsageError) << delta;
  }
}

TEST(PrivacyBudget, RefusesWithAUsageErrorThatNamesTheOption) {
  const auto expect_refused = [](const GivenBudget& budget, const std::string& message) {
    expect_refusal<UsageError>([&] { require_budget(budget); }, {message});
  };
  expect_refused({}, "no privacy budget");
  expect_refused({.epsilon = 1}, "--epsilon 1: needs --delta");
  expect_refused({.rho = 0.1, .mu = 0.5}, "more than one privacy budget");
  const auto said = [](const char* option, double value) { return fmt::format("--{} = {:g}:", option, value); };
  for (const double bad : {0.0, -1.0, kNan, kInfinity, 1e9}) {
    expect_refused({.epsilon = bad, .delta = 1e-5}, said("epsilon", bad));
  }
  for (const double bad : {0.0, 1.0, -1e-5, kNan}) expect_refused({.epsilon = 1, .delta = bad}, said("delta", bad));
  for (const double bad : {0.0, -1.0, kNan, kInfinity}) expect_refused({.rho = bad}, said("rho", bad));
  for (const double bad : {0.0, kNan}) expect_refused({.mu = bad}, said("mu", bad));
  expect_refused({.mu = 1e5}, "--mu = 1e+05:");
  for (const Accountant accountant : kAccountants) {
    EXPECT_THROW(mu_of(BudgetOptions{{.epsilon = 1e-25, .delta = 1e-25}, accountant}), UsageError);
  }
}

TEST(SelectionBudget, IsTheStatedEpsilonOrKeepsToAStatedMuOrRhoAndUsesItUp) {
  for (const double mu : {0.01, 0.5, 3.0}) {
    const double epsilon = selection_epsilon_of(BudgetOptions{{.mu = mu}});
    EXPECT_LE(selection_mu(epsilon), mu);
    EXPECT_GT(selection_mu(epsilon * (1 + 1e-9)), mu);
  }
  for (const double rho : {1e-6, 0.1, 0.125, 2.0}) {
    const double epsilon = selection_epsilon_of(BudgetOptions{{.rho = rho}});
    EXPECT_LE(selection_charge(epsilon, 1e-5).rho, rho);
    EXPECT_NEAR(epsilon, std::sqrt(8 * rho), 1e-12);
  }
  EXPECT_EQ(selection_epsilon_of(BudgetOptions{{.epsilon = 0.7}}), 0.7);
  EXPECT_EQ(selection_epsilon_of(BudgetOptions{{.epsilon = 0.7, .delta = 1e-3}}), 0.7);
}

TEST(SelectionBudget, RefusesWhatIsNone) {
  EXPECT_THROW(selection_epsilon_of(BudgetOptions{}), UsageError);
  EXPECT_THROW(selection_epsilon_of(BudgetOptions{{.epsilon = 1.0, .rho = 0.1}}), UsageError);
  EXPECT_THROW(selection_epsilon_of(BudgetOptions{{.epsilon = 0.0}}), UsageError);
  EXPECT_THROW(selection_epsilon_of(BudgetOptions{{.epsilon = 1.0, .delta = 2.0}}), UsageError);
  EXPECT_THROW(selection_epsilon_of(BudgetOptions{{.delta = 1e-5}}), UsageError);
  EXPECT_THROW(selection_epsilon_of(BudgetOptions{{.rho = 1e5}}), UsageError);
}

TEST(SelectionGuarantee, IsPureToldInEveryFormAndRefusedBeyondTheAccountants) {
  const Guarantee guarantee = selection_guarantee_of(BudgetOptions{{.epsilon = 1.0, .delta = 1e-4}}, 1.0);
  EXPECT_TRUE(guarantee.is_pure());
  EXPECT_EQ(guarantee.epsilon, 1.0);
  EXPECT_EQ(guarantee.delta, 0.0);
  EXPECT_EQ(guarantee.mu, selection_mu(1.0));
  EXPECT_EQ(guarantee.rho, 0.125);
  EXPECT_EQ(guarantee.bounded_range->delta, 1e-4);
  // epsilon at which the exact delta of bounded range is the stated one
  EXPECT_NEAR(selection_delta(1.0, guarantee.bounded_range->epsilon), 1e-4, 1e-10);
  EXPECT_EQ(selection_guarantee_of(BudgetOptions{{.epsilon = 1.0}}, 1.0).bounded_range->delta, kReportedDelta);
  const nlohmann::json json = to_json(guarantee);
  EXPECT_EQ(json["bounded_range"]["epsilon"], guarantee.bounded_range->epsilon);
  EXPECT_FALSE(to_json(guarantee_of(BudgetOptions{{.mu = 1.0}}, 1.0)).contains("bounded_range"));
  EXPECT_THROW(selection_guarantee_of(BudgetOptions{{.epsilon = 500.0}}, 500.0), UsageError);
}

}  // namespace dpreduce::budget_test
