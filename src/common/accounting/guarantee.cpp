#include "common/accounting/guarantee.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "common/accounting/selection_charge.hpp"
#include "common/accounting/zcdp.hpp"
#include "common/base/error.hpp"

namespace dpreduce {

PrivacyBudget budget_from(const StatedBudget& options) {
  StatedBudget stated = options;
  if (!options.epsilon && (options.rho || options.mu)) stated.delta.reset();
  return PrivacyBudget::from_options(stated);
}

Guarantee guarantee_of(const BudgetOptions& options, double mu) {
  const double delta = options.delta.value_or(kDeltaToTell);
  const double epsilon =
      options.epsilon ? *options.epsilon : PrivacyBudget::from_mu(mu).epsilon_at(delta, options.accountant);
  return {epsilon, delta, mu, zcdp_from_mu(mu)};
}

Guarantee sampled_guarantee_of(const BudgetOptions& options) {
  DPREDUCE_ASSERT(options.epsilon && options.delta);
  return {*options.epsilon, *options.delta, std::nullopt, std::nullopt};
}

double selection_epsilon_of(const BudgetOptions& options) {
  StatedBudget stated = options;
  if (stated.epsilon && !stated.delta) stated.delta = kDeltaToTell;
  budget_from(stated);  // throws where it is none
  if (stated.epsilon) return *stated.epsilon;
  if (stated.mu) return selection_epsilon(*stated.mu);
  double epsilon = std::sqrt(8.0 * *stated.rho);
  while (selection_charge(epsilon, kDeltaToTell).rho > *stated.rho) epsilon = std::nextafter(epsilon, 0.0);
  return epsilon;
}

Guarantee selection_guarantee_of(const BudgetOptions& options, double epsilon) {
  const double delta = options.delta.value_or(kDeltaToTell);
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

nlohmann::json or_null(const std::optional<double>& figure) {
  return figure ? nlohmann::json(*figure) : nlohmann::json(nullptr);
}

}  // namespace dpreduce
