// A model on private rows, told with noise: a run like a fit (fit/fit.hpp) that trains nothing, of one release that is
// charged on a ledger.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "evaluate/private_figures.hpp"
#include "fit/fit.hpp"

namespace dpreduce {

/// A model's bytes, as evaluation.models has them.
std::string text_of(const Classifier& model);

/// `options`, whose rows are those of data.train, as a run that evaluates the models of evaluation.models, or where
/// there are none those of evaluation.files: read, and with what follows from them; not validated. Throws BadInput
/// where one cannot be read; UsageError where metrics and model do not go together.
FitOptions evaluation_of(FitOptions options);

/// Sees the run's release, and makes figures of it; at the coordinator (TrainingTerms::observer).
class EvaluationObserver {
 public:
  explicit EvaluationObserver(const FitOptions& options);
  ReleaseWatcher watcher();
  /// Precondition: the release was made.
  const PrivateFigures& figures() const { return *figures_; }

 private:
  const FitOptions& options_;
  std::vector<double> scales_;  // of the targets that the model predicts
  std::optional<PrivateFigures> figures_;
};

/// Report of a run on test rows, with noise: {"figures": "private", "seeded" or "forfeited", "metrics": {NAME:
/// {"value", "low", "high", "noise"}}, "level", "note"}; keys are part of the command-line contract.
nlohmann::json told_json(const FittedRun& run, const PrivateFigures& figures);

/// The report of a run that evaluates models that were there: told_json, {"models": [SHA-256 of each], "privacy", ...};
/// of models that forfeit the promise neither digests nor names of classes.
nlohmann::json private_report(const FittedRun& run, const PrivateFigures& figures, int ranks);

}  // namespace dpreduce
