#include "common/accounting/guarantee.hpp"

#include <nlohmann/json.hpp>

#include "common/accounting/selection_charge.hpp"
#include "common/base/error.hpp"
#include "tests/common/accounting/hockey_stick.hpp"
#include "tests/testing.hpp"

namespace dpreduce::guarantee_test {

BudgetOptions budget(std::optional<double> epsilon, std::optional<double> delta, std::optional<double> rho = {},
                     std::optional<double> mu = {}) {
  BudgetOptions options;
  options.epsilon = epsilon;
  options.delta = delta;
  options.rho = rho;
  options.mu = mu;
  return options;
}

TEST(SelectionBudget, IsTheStatedEpsilonWhateverDeltaIsBesideIt) {
  EXPECT_EQ(selection_epsilon_of(budget(0.7, {})), 0.7);
  EXPECT_EQ(selection_epsilon_of(budget(0.7, 1e-3)), 0.7);
}

TEST(SelectionBudget, KeepsToAStatedMuOrRhoAndUsesItUp) {
  for (const double mu : {0.01, 0.5, 3.0}) {
    const double epsilon = selection_epsilon_of(budget({}, {}, {}, mu));
    EXPECT_LE(selection_mu(epsilon), mu);
    EXPECT_GT(selection_mu(epsilon * (1 + 1e-9)), mu);
  }
  for (const double rho : {1e-6, 0.1, 0.125, 2.0}) {
    const double epsilon = selection_epsilon_of(budget({}, {}, rho));
    EXPECT_LE(selection_charge(epsilon, 1e-5).rho, rho);
    EXPECT_NEAR(epsilon, std::sqrt(8 * rho), 1e-12);
  }
}

TEST(SelectionBudget, RefusesWhatIsNone) {
  EXPECT_THROW(selection_epsilon_of(budget({}, {})), UsageError);
  EXPECT_THROW(selection_epsilon_of(budget(1.0, {}, 0.1)), UsageError);
  EXPECT_THROW(selection_epsilon_of(budget(0.0, {})), UsageError);
  EXPECT_THROW(selection_epsilon_of(budget(1.0, 2.0)), UsageError);
  EXPECT_THROW(selection_epsilon_of(budget({}, 1e-5)), UsageError);
  EXPECT_THROW(selection_epsilon_of(budget({}, {}, 1e5)), UsageError);
}

TEST(SelectionGuarantee, IsPureAndToldInEveryForm) {
  const Guarantee guarantee = selection_guarantee_of(budget(1.0, 1e-4), 1.0);
  EXPECT_TRUE(guarantee.is_pure());
  EXPECT_EQ(guarantee.epsilon, 1.0);
  EXPECT_EQ(guarantee.delta, 0.0);
  EXPECT_EQ(guarantee.mu, selection_mu(1.0));
  EXPECT_EQ(guarantee.rho, 0.125);
  EXPECT_EQ(guarantee.bounded_range->delta, 1e-4);
  // epsilon at which the exact delta of bounded range is the stated one
  EXPECT_NEAR(selection_delta(1.0, guarantee.bounded_range->epsilon), 1e-4, 1e-10);
  EXPECT_EQ(selection_guarantee_of(budget(1.0, {}), 1.0).bounded_range->delta, kDeltaToTell);
  const nlohmann::json json = to_json(guarantee);
  EXPECT_EQ(json["bounded_range"]["epsilon"], guarantee.bounded_range->epsilon);
  EXPECT_FALSE(to_json(guarantee_of(budget({}, {}, {}, 1.0), 1.0)).contains("bounded_range"));
}

TEST(SelectionGuarantee, RefusesAnEpsilonBeyondTheAccountants) {
  EXPECT_THROW(selection_guarantee_of(budget(500.0, {}), 500.0), UsageError);
}

}  // namespace dpreduce::guarantee_test
