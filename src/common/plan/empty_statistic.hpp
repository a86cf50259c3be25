// Zeros in the shape of what is planned.
#pragma once

#include "common/plan/noise_plan.hpp"
#include "common/plan/statistic.hpp"

namespace dpreduce {

/// An all-zero statistic with the blocks of `request`.
Statistic empty_statistic(const ReleaseRequest& request);

/// Zeros for a selection's utilities: one block "utilities", groups x candidates, row g holds group g. Precondition:
/// fault_of(selection.terms) is empty.
Statistic empty_utilities(const PlannedSelection& selection);

}  // namespace dpreduce
