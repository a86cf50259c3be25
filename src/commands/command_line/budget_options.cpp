#include "commands/command_line/budget_options.hpp"

namespace dpreduce {

void declare_stated_budget(OptionTable& table, StatedBudget& budget) {
  constexpr const char* kGroup = "Privacy";
  table.number("--epsilon", budget.epsilon, "privacy budget, with --delta").in_group(kGroup);
  table.number("--delta", budget.delta, "at most 1 / (10 n) for a public n of your data's size").in_group(kGroup);
  table.number("--rho", budget.rho, "privacy budget in zCDP").in_group(kGroup);
  table.number("--mu", budget.mu, "privacy budget in Gaussian DP").in_group(kGroup);
}

void declare_budget(OptionTable& table, BudgetOptions& budget) {
  declare_stated_budget(table, budget);
  table.choice("--accountant", budget.accountant, "what links epsilon and delta with the noise; gdp and pld are exact")
      .in_group("Privacy");
}

void declare_sensitivity(OptionTable& table, double& sensitivity) {
  table.number("--sensitivity", sensitivity, "L2 sensitivity of the released vector");
}

void choose_accountant(BudgetOptions& budget, double sampling_rate, const OptionTable& table) {
  if (sampling_rate < 1.0 && !table.find("--accountant")->is_given()) budget.accountant = Accountant::kPld;
}

}  // namespace dpreduce
