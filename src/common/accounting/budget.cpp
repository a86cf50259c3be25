#include "common/accounting/budget.hpp"

#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/mechanism.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"

namespace dpreduce {
namespace {

bool uses_tight_zcdp(Accountant accountant) {
  return accountant == Accountant::kZcdp || accountant == Accountant::kRdp;
}

}  // namespace

void require_ranges(const GivenBudget& stated) {
  if (stated.epsilon) require_positive("--epsilon", *stated.epsilon, kLargestEpsilon);
  if (stated.delta) require_probability("--delta", *stated.delta);
  if (stated.rho) require_between("--rho", *stated.rho, kSmallestRho, kLargestRho);
  if (stated.mu) require_between("--mu", *stated.mu, kSmallestMu, kLargestMu);
}

void require_budget(const GivenBudget& stated) {
  const int budgets = stated.epsilon.has_value() + stated.rho.has_value() + stated.mu.has_value();
  if (budgets == 0) throw UsageError("no privacy budget: give --epsilon and --delta, or --rho, or --mu");
  if (budgets > 1)
    throw UsageError("more than one privacy budget: give one of --epsilon (with --delta), --rho and --mu");
  if (stated.epsilon && !stated.delta) {
    throw UsageError("--epsilon {}: needs --delta as well; choose it well below 1 / (number of records)",
                     print_number(*stated.epsilon));
  }
  require_ranges(stated);
}

double mu_of(const BudgetOptions& budget) {
  require_budget(budget);
  if (budget.mu) return *budget.mu;
  if (budget.rho) return mu_from_zcdp(*budget.rho);
  if (uses_tight_zcdp(budget.accountant)) return mu_from_zcdp(zcdp_from_epsilon_tight(*budget.epsilon, *budget.delta));
  return gdp_mu(*budget.epsilon, *budget.delta);
}

Guarantee guarantee_of(const BudgetOptions& options, double mu) {
  const double delta = options.delta.value_or(kReportedDelta);
  if (options.epsilon) return {*options.epsilon, delta, mu, zcdp_from_mu(mu)};
  require_ranges({.delta = delta, .mu = mu});
  const double rho = zcdp_from_mu(mu);
  return {uses_tight_zcdp(options.accountant) ? epsilon_from_zcdp_tight(rho, delta) : gdp_epsilon(mu, delta), delta, mu,
          rho};
}

Guarantee sampled_guarantee_of(const BudgetOptions& options) {
  DPREDUCE_ASSERT(options.epsilon && options.delta);
  return {*options.epsilon, *options.delta, std::nullopt, std::nullopt};
}

double selection_epsilon_of(const BudgetOptions& options) {
  GivenBudget stated = options;
  if (stated.epsilon && !stated.delta) stated.delta = kReportedDelta;
  require_budget(stated);
  if (stated.epsilon) return *stated.epsilon;
  if (stated.mu) return selection_epsilon(*stated.mu);
  double epsilon = std::sqrt(8.0 * *stated.rho);
  while (selection_charge(epsilon, kReportedDelta).rho > *stated.rho) epsilon = std::nextafter(epsilon, 0.0);
  return epsilon;
}

Guarantee selection_guarantee_of(const BudgetOptions& options, double epsilon) {
  const double delta = options.delta.value_or(kReportedDelta);
  const SelectionCharge charge = selection_charge(epsilon, delta);
  return {epsilon, 0.0, selection_mu(epsilon), charge.rho, EpsilonAtDelta{charge.epsilon, delta}};
}

nlohmann::json to_json(const Guarantee& guarantee) {
  nlohmann::json json{{"epsilon", guarantee.epsilon},
                      {"delta", guarantee.delta},
                      {"mu", or_null(guarantee.mu)},
                      {"rho", or_null(guarantee.rho)}};
  if (guarantee.bounded_range) {
    json["bounded_range"] = {{"epsilon", guarantee.bounded_range->epsilon}, {"delta", guarantee.bounded_range->delta}};
  }
  return json;
}

}  // namespace dpreduce
