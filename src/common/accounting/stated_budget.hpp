// A budget as its owner states it.
#pragma once

#include <optional>

#include "common/accounting/accountant.hpp"
#include "common/base/archive_all.hpp"

namespace dpreduce {

/// Exactly one of (epsilon, delta), rho, mu; checked when a budget is made of it.
struct StatedBudget {
  std::optional<double> epsilon{};
  std::optional<double> delta{};
  std::optional<double> rho{};
  std::optional<double> mu{};
  bool operator==(const StatedBudget&) const = default;
};

DPREDUCE_ARCHIVE(StatedBudget, epsilon, delta, rho, mu)

/// Non-private goes without any of them.
struct BudgetOptions : StatedBudget {
  Accountant accountant = Accountant::kGdp;
  bool non_private = false;
  bool operator==(const BudgetOptions&) const = default;
};

template <typename Archive>
void serialize(Archive& archive, BudgetOptions& options, unsigned) {
  archive_all(archive, static_cast<StatedBudget&>(options), options.accountant, options.non_private);
}

}  // namespace dpreduce
