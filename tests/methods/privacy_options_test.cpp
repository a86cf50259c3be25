
#include "methods/fit_options.hpp"
#include "tests/methods/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::privacy_options_test {

TEST(PrivacyOptions, ALedgerIsKept) {
  EXPECT_THAT(refusal_of(PrivacyOptions()), IsEmpty());
  EXPECT_THAT(refusal_of(PrivacyOptions{.ledger = ""}), HasSubstr("--ledger"));
}

TEST(PrivacyOptions, WithoutNoiseThereIsNoBudget) {
  const std::pair<const char*, GivenBudget> stated[] = {
      {"--epsilon", {.epsilon = 1.0}}, {"--delta", {.delta = 1e-6}}, {"--rho", {.rho = 1.0}}, {"--mu", {.mu = 1.0}}};
  for (const auto& [option, budget] : stated) {
    FitOptions fit = good_fit("mean");
    fit.privacy.budget = {budget};
    fit.privacy.budget.non_private = true;
    EXPECT_THAT(refusal(fit), HasSubstr("--non-private with " + std::string(option)));
  }
}

TEST(PrivacyOptions, TheBudgetOfADataSetIsAWholeOne) {
  EXPECT_THAT(refusal_of(PrivacyOptions{.limit_epsilon = 0.5}),
              HasSubstr("--budget-epsilon and --budget-delta go together: --budget-delta is missing"));
  EXPECT_THAT(refusal_of(PrivacyOptions{.limit_delta = 0.5}), HasSubstr("--budget-epsilon is missing"));
}

}  // namespace dpreduce::privacy_options_test
