// What the two forms of least squares share: one Gram matrix for all classes, or one each.
#pragma once

#include <memory>
#include <string_view>

#include "methods/training_method.hpp"

namespace dpreduce {

/// Share of mu^2 for the Gram matrices, shared or by class.
double least_squares_gram_share(const FitOptions& options);

/// Share of C^2 that an intercept coordinate takes of every row, with two classes or `--center moments`; else 0.
double least_squares_intercept(const FitOptions& options);

/// One Gram matrix for all classes, or one for each. The method is called `name`, which outlives it.
std::unique_ptr<TrainingMethod> make_shared_least_squares(std::string_view name, const FitOptions& options);
std::unique_ptr<TrainingMethod> make_class_least_squares(std::string_view name, const FitOptions& options);

}  // namespace dpreduce
