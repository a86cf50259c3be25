// What a run may spend: one of (epsilon, delta), rho or mu, and which neighbors it protects.
#pragma once

#include <optional>

#include "common/accounting/accountant.hpp"
#include "common/accounting/stated_budget.hpp"

namespace dpreduce {

/// Throws UsageError naming the option where a number that is stated is outside the range that a budget takes.
void check_ranges(const StatedBudget& stated);

/// A privacy budget, stated in one of three ways; what it allows is one number, mu.
class PrivacyBudget {
 public:
  /// Preconditions: exactly one of epsilon (with delta), rho, mu; 0 < epsilon <= kLargestEpsilon; 0 < delta < 1;
  /// kSmallestRho <= rho <= kLargestRho; kSmallestMu <= mu <= kLargestMu; no delta with rho or mu. Throws UsageError
  /// naming the options and their values.
  static PrivacyBudget from_options(const StatedBudget& options);
  static PrivacyBudget from_mu(double mu);

  /// The GDP parameter that all Gaussian releases together may reach, rounded down. For a budget in rho, mu = sqrt(2
  /// rho), with every accountant. Throws UsageError if (epsilon, delta) is too small to be met by any noise in range.
  double mu(Accountant accountant = Accountant::kGdp) const;

  /// The epsilon that a run with this budget can claim at the given delta, rounded up: at the budget's own delta its
  /// own epsilon, elsewhere what mu(accountant) converts to. Throws UsageError unless 0 < delta < 1.
  double epsilon_at(double delta, Accountant accountant = Accountant::kGdp) const;

  /// As stated by the user; empty for a budget in rho or mu.
  std::optional<double> epsilon() const { return options_.epsilon; }
  std::optional<double> delta() const { return options_.delta; }

 private:
  explicit PrivacyBudget(const StatedBudget& options) : options_(options) {}
  StatedBudget options_;
};

}  // namespace dpreduce
