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

/// Throws UsageError where `test` names classes and the model predicts numbers, or the other way round.
void require_kind_of_model(const Classifier& classifier, const RowFiles& test);

/// Returns `options` as those of a run that evaluates the models of evaluation.models, or if there are none those of
/// evaluation.files, on the rows of data.train. The models are read, and options that follow from them are set; the
/// result is not validated. Throws BadInput if a model cannot be read, or two models differ in features or class names;
/// UsageError if metrics and model do not go together.
FitOptions evaluation_of(FitOptions options);

/// Report of a run on test rows, with noise: {"figures": "private", "seeded" or "forfeited", "metrics": {NAME:
/// {"value", "low", "high", "noise"}}, "level", "note"}; keys are part of the command-line contract. `releases` are
/// those of metrics, in their order, as an observer of the run saw them (TrainingTerms::observer).
nlohmann::json evaluation_json(const FittedRun& run, const std::vector<Release>& releases);

/// Report of a run that evaluates existing models: evaluation_json, {"models": [SHA-256 of each], "privacy", ...}. For
/// models that forfeit the promise the report has neither digests nor names of classes.
nlohmann::json private_report(const FittedRun& run, const std::vector<Release>& releases, int ranks);

}  // namespace dpreduce
