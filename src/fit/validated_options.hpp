// The checks of a fit's options that cross their parts.
#pragma once

#include "methods/fit_options.hpp"

namespace dpreduce {

/// Returns whether prototypes may be chosen among public rows: then every rank opens all of these.
bool may_choose_public_rows(const FitOptions& options);

/// `options`, each part checked by itself, what the method takes, and what crosses parts. A --batch of all rows is
/// none. Throws UsageError naming option, value and limit.
FitOptions validated(FitOptions options);

}  // namespace dpreduce
