// Budget options of a user become a budget, and a run's budget a claim.
#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "common/accounting/budget.hpp"

namespace dpreduce {

/// Where a budget is stated in rho or mu without a delta, epsilon is reported at this delta.
inline constexpr double kDeltaToTell = 1e-5;

struct EpsilonAtDelta {
  double epsilon;
  double delta;
};

/// A run's guarantee, in the forms that reports and models carry. Gaussian releases have a mu and a rho; with rounds on
/// samples there are none. A single selection is pure: its delta is 0.
struct Guarantee {
  double epsilon;
  double delta;
  std::optional<double> mu;
  std::optional<double> rho;
  std::optional<EpsilonAtDelta> bounded_range{};  ///< of a single selection: what it costs where a delta is allowed

  bool is_pure() const { return delta == 0.0; }
};

/// Throws UsageError unless exactly one of (epsilon, delta), rho, mu is stated, in range. A delta beside rho or mu only
/// says where epsilon is to be told.
PrivacyBudget budget_from(const StatedBudget& options);

/// mu as realized (at most the budget's), with the stated (epsilon, delta), or epsilon at the delta to be told.
Guarantee guarantee_of(const BudgetOptions& options, double mu);

/// The stated (epsilon, delta), of a run with rounds on samples. Precondition (asserted): they are stated.
Guarantee sampled_guarantee_of(const BudgetOptions& options);

/// The epsilon of a single selection by the exponential mechanism that may spend all of the budget: the stated one,
/// pure, whatever delta is beside it; or the largest that keeps to a stated mu or rho. Throws UsageError as
/// budget_from, but that a delta may be missing.
double selection_epsilon_of(const BudgetOptions& options);

/// The guarantee of that selection: (epsilon, 0), mu and rho (selection_charge.hpp), and epsilon at the stated delta or
/// the one to be told. Throws UsageError where epsilon is out of the accountants' range.
Guarantee selection_guarantee_of(const BudgetOptions& options, double epsilon);

nlohmann::json to_json(const Guarantee& guarantee);

/// A figure that may be absent, as JSON.
nlohmann::json or_null(const std::optional<double>& figure);

}  // namespace dpreduce
