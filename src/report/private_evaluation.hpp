// Evaluation of a model on private rows, reported with noise: a run like a fit (fit/fit.hpp) that trains nothing, of
// one release that is charged on a ledger.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/ledger/released_block.hpp"
#include "fit/fit.hpp"

namespace dpreduce {

/// Bytes of a model, as in EvaluationOptions::models.
std::string text_of(const Classifier& model);

/// Returns `options` as those of a run that evaluates the models of evaluation.models, or if there are none those of
/// evaluation.files, on the rows of data.train. The models are read, and options that follow from them are set; the
/// result is not validated. Throws BadInput if a model cannot be read, or two models differ in features or class names;
/// UsageError if metrics and model do not go together.
FitOptions evaluation_of(FitOptions options);

/// Observer of a run's releases, from which it computes metrics; at the coordinator (TrainingTerms::observer).
class EvaluationObserver {
 public:
  explicit EvaluationObserver(const FitOptions& options) : options_(options) {}
  ReleaseWatcher watcher();
  /// Metrics as private_figures (worker/metrics/metric_entry.hpp) returns them. Precondition: the releases were made.
  nlohmann::json figures() const;

 private:
  const FitOptions& options_;
  std::vector<Release> releases_;
};

/// Report of a run on test rows, with noise: {"figures": "private", "seeded" or "forfeited", "metrics": {NAME:
/// {"value", "low", "high", "noise"}}, "level", "note"}; keys are part of the command-line contract.
nlohmann::json evaluation_json(const FittedRun& run, const nlohmann::json& figures);

/// Report of a run that evaluates existing models: evaluation_json, {"models": [SHA-256 of each], "privacy", ...}. For
/// models that forfeit the promise the report has neither digests nor names of classes.
nlohmann::json private_report(const FittedRun& run, const nlohmann::json& figures, int ranks);

}  // namespace dpreduce
