#include "dpreduce/privacy/guarantee.hpp"

#include <nlohmann/json.hpp>

#include "dpreduce/config/error.hpp"
#include "dpreduce/privacy/zcdp.hpp"

namespace dpreduce {

PrivacyBudget budget_from(const StatedBudget& options) {
  PrivacyBudget::Options stated{options.epsilon, options.delta, options.rho, options.mu};
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

nlohmann::json to_json(const Guarantee& guarantee) {
  return {{"epsilon", guarantee.epsilon},
          {"delta", guarantee.delta},
          {"mu", or_null(guarantee.mu)},
          {"rho", or_null(guarantee.rho)}};
}

nlohmann::json or_null(const std::optional<double>& figure) {
  return figure ? nlohmann::json(*figure) : nlohmann::json(nullptr);
}

}  // namespace dpreduce
