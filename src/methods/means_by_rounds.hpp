// Class means instead of rounds, if rows spread evenly over directions (aggregator/solvers/isotropic_rule.hpp).
//
//     release "isotropy"  ->  class means?  ->  T rounds at W = 0, whose sum is that of class sums and sizes  -> scores
//
// The noise plan and the charges are those of rounds for either result: both are decided before any row is read.
#pragma once

#include <optional>

#include "aggregator/solvers/isotropic_rule.hpp"
#include "methods/fit_options.hpp"
#include "methods/fit_plan.hpp"
#include "methods/gradient_rounds.hpp"

namespace dpreduce {

/// Returns whether class means may replace rounds: if rows have one class each, the loss is softmax, and the result is
/// W_T, without --choose, --warm-start or an average of iterates.
bool may_take_means(const FitOptions& options);

/// Returns the forecast by the plan of resolved `options` for `rows` rows; nullopt if no release tests how rows spread.
std::optional<MeansForecast> forecast_of_means(const FitOptions& options, const FitPlan& plan, double rows);

/// Releases "isotropy", which has `share` of the method's mu^2. Returns the approximate number of rows if the rows suit
/// class means, else nullopt; the same on every rank. Collective. Throws as TrainingRun::release.
std::optional<double> rows_for_means(TrainingRun& run, double share);

/// Makes the rounds of `settings` at W = 0, and returns the scores of the class means that they add up to. `count` is
/// the result of rows_for_means. Precondition (asserted): rows have an intercept. Collective. Throws as
/// train_in_rounds.
LinearScores train_by_means(TrainingRun& run, const RoundSettings& settings, double count);

}  // namespace dpreduce
