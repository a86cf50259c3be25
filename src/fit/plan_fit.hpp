// The plan of a fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/ledger/data_set_budget.hpp"
#include "common/simulation/long_tail.hpp"
#include "methods/options/fit_options.hpp"
#include "run/fit_plan.hpp"

namespace dpreduce {

/// What --budget-epsilon and --budget-delta allow. Throws UsageError naming the option and its limit.
DataSetBudget data_set_budget(double epsilon, double delta);

/// The part of the training rows that is trained on, where it is not all of them. `data` are validated.
std::optional<LongTail> long_tail_of(const DataOptions& data);

/// The plan for rows of `input_dim` features, with so many public rows to choose from; `options` are resolved. Throws
/// UsageError where options and features do not fit.
FitPlan plan_fit(const FitOptions& options, std::size_t input_dim, std::uint64_t public_rows = 0);

}  // namespace dpreduce
