// Checks of a fit's options that concern several of their parts.
#pragma once

#include "methods/fit_options.hpp"

namespace dpreduce {

/// Returns whether prototypes may be chosen among public rows. If so, every rank opens all public rows.
bool may_choose_public_rows(const FitOptions& options);

/// Returns `options` after checks of each part, of the options that the method takes, and of combinations of parts. A
/// --batch of all rows becomes no --batch. Throws UsageError naming option, value and limit.
FitOptions validated(FitOptions options);

}  // namespace dpreduce
