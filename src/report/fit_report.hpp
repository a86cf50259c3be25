// Report of a fit when it is done: public constants, released values, and metrics of test rows; never an exact count or
// sum of training rows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/base/privacy_terms.hpp"
#include "common/model/metrics.hpp"
#include "common/ranks/communicator.hpp"
#include "fit/fit.hpp"
#include "fit/release_figures.hpp"
#include "methods/timings.hpp"
#include "report/plan_report.hpp"

namespace dpreduce {

/// Metrics of test rows, exact, and outside of every guarantee: for rows of one class each counts of classes; where
/// labels are n x K zeros and ones metrics of sets; for numbers how much is explained.
using TestFigures = std::variant<ClassCounts, LabelSetFigures, TargetFigures>;

/// JSON of the metrics. For one class a row it has the confusion matrix, K lists of K counts, row t those of true class
/// t by predicted class, where classes are no more than `most_classes`. Precondition: at most kMostClassesInMatrix.
/// `shares` of training rows determine the minority classes; may be empty.
nlohmann::json test_json(const TestFigures& figures, std::span<const double> shares, std::size_t most_classes);

/// Note that reports have beside test metrics where test rows are training rows.
nlohmann::json training_rows_note();

/// The report of a run that is not finished yet; keys are part of the command-line contract. At the coordinator.
nlohmann::json fit_report(const FittedRun& run, const std::optional<TestFigures>& test, int ranks, unsigned threads);

/// Adds figures of the releases beside their noise: "norm" and "noise_norm" to each entry of privacy.releases that
/// there are figures of, and "spectra".
void add_figures(nlohmann::json& report, ReleaseFigures& figures);

/// Reason in a report why a run with noise is not private. Precondition: there are forfeits.
std::string note_of(const Forfeits& forfeits);

/// Adds the inputs of the run that the user has declared public, if there are any.
void add_words(nlohmann::json& report, const FitOptions& options);

/// State of the ledger, by which `ledger verify --report` finds whether it is the same ledger, and whether lines were
/// cut off since; and its spending. At the coordinator.
nlohmann::json ledger_json(const Releaser& releaser, const PrivacyOptions& privacy);

/// Spending of all runs on the run's ledger together, in words (balance_text). At the coordinator. Precondition: its
/// releases are charged to a ledger.
std::string ledger_balance(const FittedRun& run);

/// {"for_release": false, "note", "phases": {phase: seconds}, "ranks": [the same of each]}: seconds of the coordinator,
/// and of every rank where there are several. For the data's owner alone.
nlohmann::json timings_json(const RankTimings& phases, const std::vector<RankTimings>& of_ranks);

/// Members of a run of silos, those that dropped out, when and why, and the cost of each kind of message. At the
/// coordinator of a run of silos.
nlohmann::json silos_json(const Communicator& ranks, NoiseSource noise);

/// Returns {kind: seconds}: the time that the coordinator waited for messages of each kind. Beside Timings, for the
/// data's owner.
nlohmann::json waits_json(const Communicator& ranks);

/// Returns {"method", "chosen", "by"}: the method that the named one resolves to, of resolved `options`.
nlohmann::json adaptive_json(const MethodOptions& method);

}  // namespace dpreduce
