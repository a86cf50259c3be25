#include "common/accounting/budget.hpp"

#include <nlohmann/json.hpp>

#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/selection_charge.hpp"
#include "common/accounting/zcdp.hpp"
#include "common/base/error.hpp"
#include "tests/common/accounting/hockey_stick.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::budget_test {

constexpr std::nullopt_t kAbsent = std::nullopt;

TEST(PrivacyBudget, EpsilonAndDeltaGiveTheExactMu) {
  const PrivacyBudget budget = budget_from({.epsilon = 1, .delta = 1e-5});
  EXPECT_EQ(budget.mu(), gdp_mu(1, 1e-5));
  EXPECT_EQ(budget.mu(Accountant::kPld), gdp_mu(1, 1e-5));
  EXPECT_EQ(budget.epsilon(), 1);
  EXPECT_EQ(budget.delta(), 1e-5);
  EXPECT_EQ(budget.epsilon_at(1e-5), 1);
  EXPECT_EQ(budget.epsilon_at(1e-5, Accountant::kZcdp), 1);
  EXPECT_EQ(budget.epsilon_at(1e-6), gdp_epsilon(budget.mu(), 1e-6));
}

// Sigma through the tight zCDP conversion at (1, 1e-6): 7% more than exact.
TEST(PrivacyBudget, ZcdpAndRdpAccountantsAskForMoreNoise) {
  const PrivacyBudget budget = budget_from({.epsilon = 1, .delta = 1e-6});
  EXPECT_NEAR(budget.mu() / budget.mu(Accountant::kZcdp), 1.07, 0.005);
  EXPECT_EQ(budget.mu(Accountant::kZcdp), budget.mu(Accountant::kRdp));
}

TEST(PrivacyBudget, RhoGivesMuWithEveryAccountant) {
  const PrivacyBudget budget = budget_from({.rho = 0.1});
  for (const Accountant accountant : {Accountant::kGdp, Accountant::kZcdp, Accountant::kRdp, Accountant::kPld}) {
    EXPECT_EQ(budget.mu(accountant), mu_from_zcdp(0.1));
  }
  EXPECT_EQ(budget.epsilon(), kAbsent);
  EXPECT_EQ(budget.delta(), kAbsent);
  EXPECT_EQ(budget.epsilon_at(1e-5), gdp_epsilon(mu_from_zcdp(0.1), 1e-5));
  EXPECT_EQ(budget.epsilon_at(1e-5, Accountant::kZcdp), epsilon_from_zcdp_tight(0.1, 1e-5));
}

TEST(PrivacyBudget, MuIsTakenAsItIsAndReportedAtADeltaInRange) {
  const PrivacyBudget budget = budget_from({.mu = 0.3});
  EXPECT_EQ(budget.mu(), 0.3);
  EXPECT_EQ(budget.mu(Accountant::kZcdp), 0.3);
  EXPECT_EQ(budget.epsilon_at(1e-5), gdp_epsilon(0.3, 1e-5));
  for (const double delta : {0.0, 1.0, kNan}) EXPECT_THROW(budget.epsilon_at(delta), UsageError) << delta;
}

TEST(PrivacyBudget, RefusesABudgetThatNoNoiseInRangeMeets) {
  EXPECT_THROW(budget_from({.epsilon = 1e-25, .delta = 1e-25}).mu(), UsageError);
  EXPECT_THROW(budget_from({.epsilon = 1e-25, .delta = 1e-25}).mu(Accountant::kZcdp), UsageError);
}

TEST(PrivacyBudget, RefusesWithAUsageErrorThatNamesTheOption) {
  const std::pair<GivenBudget, const char*> bad[] = {{{}, "no privacy budget"},
                                                     {{.epsilon = 1}, "--epsilon 1: needs --delta"},
                                                     {{.rho = 0.1, .mu = 0.5}, "more than one privacy budget"},
                                                     {{.epsilon = 0, .delta = 1e-5}, "--epsilon = 0:"},
                                                     {{.epsilon = -1, .delta = 1e-5}, "--epsilon = -1:"},
                                                     {{.epsilon = kNan, .delta = 1e-5}, "--epsilon = nan:"},
                                                     {{.epsilon = kInfinity, .delta = 1e-5}, "--epsilon = inf:"},
                                                     {{.epsilon = 1e9, .delta = 1e-5}, "--epsilon = 1e+09:"},
                                                     {{.epsilon = 1, .delta = 0}, "--delta = 0:"},
                                                     {{.epsilon = 1, .delta = 1}, "--delta = 1:"},
                                                     {{.epsilon = 1, .delta = -1e-5}, "--delta = -1e-05:"},
                                                     {{.epsilon = 1, .delta = kNan}, "--delta = nan:"},
                                                     {{.rho = 0}, "--rho = 0:"},
                                                     {{.rho = -1}, "--rho = -1:"},
                                                     {{.rho = kNan}, "--rho = nan:"},
                                                     {{.rho = kInfinity}, "--rho = inf:"},
                                                     {{.mu = 0}, "--mu = 0:"},
                                                     {{.mu = kNan}, "--mu = nan:"},
                                                     {{.mu = 1e5}, "--mu = 1e+05:"}};
  for (const auto& [options, message] : bad) {
    expect_refusal<UsageError>([&, options = options] { budget_from(options); }, {message});
  }
}

TEST(SelectionBudget, IsTheStatedEpsilonWhateverDeltaIsBesideIt) {
  EXPECT_EQ(selection_epsilon_of(BudgetOptions{{.epsilon = 0.7}}), 0.7);
  EXPECT_EQ(selection_epsilon_of(BudgetOptions{{.epsilon = 0.7, .delta = 1e-3}}), 0.7);
}

TEST(SelectionBudget, KeepsToAStatedMuOrRhoAndUsesItUp) {
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
}

TEST(SelectionBudget, RefusesWhatIsNone) {
  EXPECT_THROW(selection_epsilon_of(BudgetOptions{}), UsageError);
  EXPECT_THROW(selection_epsilon_of(BudgetOptions{{.epsilon = 1.0, .rho = 0.1}}), UsageError);
  EXPECT_THROW(selection_epsilon_of(BudgetOptions{{.epsilon = 0.0}}), UsageError);
  EXPECT_THROW(selection_epsilon_of(BudgetOptions{{.epsilon = 1.0, .delta = 2.0}}), UsageError);
  EXPECT_THROW(selection_epsilon_of(BudgetOptions{{.delta = 1e-5}}), UsageError);
  EXPECT_THROW(selection_epsilon_of(BudgetOptions{{.rho = 1e5}}), UsageError);
}

TEST(SelectionGuarantee, IsPureAndToldInEveryForm) {
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
}

TEST(SelectionGuarantee, RefusesAnEpsilonBeyondTheAccountants) {
  EXPECT_THROW(selection_guarantee_of(BudgetOptions{{.epsilon = 500.0}}, 500.0), UsageError);
}

}  // namespace dpreduce::budget_test
