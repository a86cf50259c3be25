// Regression on numbers: what --method ls and fc make of --targets.
//
//     ls    one release: the Gram matrix of rows, targets and a constant; the rest is post-processing
//           (cleaned_ridge.hpp)
//     fc    .4 of mu^2 for that; then at its regression how long residuals are, and rounds of residuals that are
//           clipped to what most of them have. Where few rows are far off, that noise is much less.
#pragma once

#include <memory>

#include "methods/training_method.hpp"

namespace dpreduce {

/// Request of the Gram matrix of rows, targets and a constant, with that share of mu^2.
ReleaseRequest target_gram_request(ReleaseTerms terms, double share);
/// Makes rows of features, a constant and targets, from here on.
void set_rows_with_targets(TrainingRun& run);
/// Division of a row, as settings of a method.
nlohmann::json row_shares();

/// The methods of resolved `options` with targets.
std::unique_ptr<TrainingMethod> make_target_least_squares(const FitOptions& options);
std::unique_ptr<TrainingMethod> make_target_rounds(const FitOptions& options);

}  // namespace dpreduce
