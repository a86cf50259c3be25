// Regressions on numbers from the released Gram matrix of rows and targets: with any ridge, on any features and
// targets, and with intervals of their coefficients.
#pragma once

#include <span>

#include <nlohmann/json_fwd.hpp>

#include "fit/fit.hpp"
#include "refit/refit.hpp"

namespace dpreduce {

/// Returns the model: by default that which `fit --method ls` makes from the same release. Throws as refit.
Refit refit_targets(const KeptStatistics& statistics, const RefitOptions& options);

/// Returns intervals by docs/reference/schemas/refit-intervals.schema.json, with targets in place of classes.
/// Coefficients are in the units of raw columns and targets if rows were only scaled by column, else in those of
/// prepared rows; the constant is last. Predictions are for `rows`, m x input_dim, which are public. Intervals are
/// those of weight_intervals.hpp, for targets minus their noised mean. `ridge` is Refit::ridge. Throws as
/// intervals_json.
nlohmann::json target_intervals_json(const KeptStatistics& statistics, const RefitOptions& options, double ridge,
                                     double level, std::span<const float> rows);

/// Returns "coefficients" of a report by docs/reference/schemas/fit-report.schema.json: those of the run's model in the
/// units of raw columns and targets, the largest 20 in effect over the ranges of their columns, and intervals by
/// target_intervals_json with next to no ridge. `keeper` has the run's Gram matrix if it had noise. At the coordinator.
/// Precondition: rows have targets.
nlohmann::json coefficients_json(const FittedRun& run, const StatisticsKeeper& keeper);

}  // namespace dpreduce
