// Regressions on numbers from the released Gram matrix of rows and targets: with any ridge, of any features and
// targets, and what is known of their coefficients.
#pragma once

#include <span>

#include <nlohmann/json_fwd.hpp>

#include "refit/refit.hpp"

namespace dpreduce {

/// Makes the model: without `options` the one that `fit --method ls` makes of the same release. Throws as refit.
Refit refit_targets(const KeptStatistics& statistics, const RefitOptions& options);

/// Returns intervals by docs/reference/schemas/refit-intervals.schema.json, with targets in place of classes:
/// coefficients in the units of raw columns and targets where rows were only scaled by column, else of prepared rows;
/// the constant last; and predictions for `rows`, m x input_dim, which are public. Intervals are those of
/// weight_intervals.hpp, of targets less their noised mean. `ridge` of Refit. Throws as intervals_json.
nlohmann::json target_intervals_json(const KeptStatistics& statistics, const RefitOptions& options, double ridge,
                                     double level, std::span<const float> rows);

}  // namespace dpreduce
