// What a training method returns, as a classifier that states its guarantee.
#pragma once

#include "aggregator/solvers/linear_scores.hpp"
#include "common/model/classifier.hpp"
#include "methods/training_method.hpp"
#include "run/fit_plan.hpp"

namespace dpreduce {

/// `scores` of rows prepared as `preprocessing` says, with the plan's guarantee where the run is private.
Classifier fitted_classifier(const TrainingMethod& method, LinearScores scores, Preprocessing preprocessing,
                             const FitOptions& options, const FitPlan& plan);

}  // namespace dpreduce
