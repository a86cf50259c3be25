// Budgets that promise little, and how that is said: at the start of a run, in its report, by `privacy explain`.
#pragma once

#include <string>

#include "common/base/privacy_terms.hpp"
#include "run/fit_plan.hpp"

namespace dpreduce {

/// Above the one, or from the other on, a budget promises little.
inline constexpr double kLargeEpsilon = 20.0;
inline constexpr double kLargeDelta = 1e-3;

/// Why (epsilon, delta) promises little, in one line with its figures. Empty where epsilon <= kLargeEpsilon and delta <
/// kLargeDelta.
std::string weakness_of(double epsilon, double delta, PrivacyUnit unit = PrivacyUnit::kRecord);

/// The same of a plan's guarantee; empty where the run is not private at all, and says so.
std::string weakness_of(const FitPlan& plan, PrivacyUnit unit);

/// One line on standard error; none for an empty text. The coordinator's, once a run.
void warn_of_weakness(const std::string& weakness);

}  // namespace dpreduce
