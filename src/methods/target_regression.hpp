// Regression on numbers: --method ls and fc with --targets.
//
//     ls    one release: the Gram matrix of rows, targets and a constant; the rest is post-processing
//           (cleaned_ridge.hpp)
//     fc    .4 of mu^2 for that release; then, at its regression, a release of the lengths of residuals, and rounds of
//           residuals clipped to the length of most of them. If few rows are far off, that noise is much smaller.
#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "methods/registry.hpp"

namespace dpreduce {

/// Returns the request of the Gram matrix of rows, targets and a constant, with `share` of mu^2.
ReleaseRequest target_gram_request(ReleaseTerms terms, double share);
/// Composes rows of features, a constant and targets, from here on.
void set_rows_with_targets(TrainingRun& run);
/// Returns the division of a row between features, constant and targets, as settings of a method.
nlohmann::json row_shares();

/// Returns the method of resolved `options` with targets: ls by the first function, fc by the second.
std::unique_ptr<TrainingMethod> make_target_least_squares(const FitOptions& options);
std::unique_ptr<TrainingMethod> make_target_rounds(const FitOptions& options);

}  // namespace dpreduce
