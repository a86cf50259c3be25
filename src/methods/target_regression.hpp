// Least squares on numbers: what --method ls makes of --targets.
#pragma once

#include <memory>

#include "methods/training_method.hpp"

namespace dpreduce {

/// Throws UsageError where `options` have an option of --method ls that is about classes.
void require_no_options_of_classes(const FitOptions& options);

/// The method of resolved `options` with targets.
std::unique_ptr<TrainingMethod> make_target_least_squares(const FitOptions& options);

}  // namespace dpreduce
