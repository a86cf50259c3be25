// What a user's budget options mean, and what a run may then claim.
#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "dpreduce/config/options.hpp"
#include "dpreduce/privacy/budget.hpp"

namespace dpreduce {

/// Where a budget is stated in rho or mu without a delta, epsilon is told at this one.
inline constexpr double kDeltaToTell = 1e-5;

/// The guarantee of Gaussian releases with parameter mu, in the forms that reports and models carry.
struct Guarantee {
  double epsilon;
  double delta;
  double mu;
  double rho;
};

/// Throws UsageError unless exactly one of (epsilon, delta), rho, mu is stated, in range. A delta beside rho or mu only
/// says where epsilon is to be told.
PrivacyBudget budget_from(const StatedBudget& options);

/// mu as realised (at most the budget's), with the stated (epsilon, delta), or epsilon at the delta to be told.
Guarantee guarantee_of(const BudgetOptions& options, double mu);

nlohmann::json to_json(const Guarantee& guarantee);

/// A figure that may be absent, as JSON.
nlohmann::json or_null(const std::optional<double>& figure);

}  // namespace dpreduce
