// A budget as its owner states it.
#pragma once

#include <optional>

#include "common/base/choices.hpp"

namespace dpreduce {

/// Exactly one of (epsilon, delta), rho, mu; checked when a budget is made of it.
struct StatedBudget {
  std::optional<double> epsilon{};
  std::optional<double> delta{};
  std::optional<double> rho{};
  std::optional<double> mu{};
  bool operator==(const StatedBudget&) const = default;
};

/// Non-private goes without any of them.
struct BudgetOptions : StatedBudget {
  Accountant accountant = Accountant::kGdp;
  bool non_private = false;
  bool operator==(const BudgetOptions&) const = default;
};

}  // namespace dpreduce
