// The options of commands that state a budget.
#pragma once

#include "common/accounting/stated_budget.hpp"
#include "common/base/option_table.hpp"

namespace dpreduce {

/// --epsilon, --delta, --rho, --mu.
void declare_stated_budget(OptionTable& table, StatedBudget& budget);

/// Those, and --accountant.
void declare_budget(OptionTable& table, BudgetOptions& budget);

/// --sensitivity.
void declare_sensitivity(OptionTable& table, double& sensitivity);

/// On samples (a rate below 1) the accountant is pld where --accountant of `table` is not given.
void choose_accountant(BudgetOptions& budget, double sampling_rate, const OptionTable& table);

}  // namespace dpreduce
