// Rounds of gradient descent by the step of descent_step.hpp, 300 unless the user says otherwise.
#pragma once

#include <memory>
#include <string_view>

#include "methods/descent_step.hpp"
#include "methods/training_method.hpp"

namespace dpreduce {

/// Under that name, with residuals bounded so. `name` outlives the method.
std::unique_ptr<TrainingMethod> make_gradient_descent(std::string_view name, const FitOptions& options, Bound bound);

}  // namespace dpreduce
