// Report of a finished fit as JSON: public constants, released values, and metrics of test rows; never an exact count
// or sum of training rows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/ledger/spending.hpp"
#include "common/model/metrics.hpp"
#include "common/ranks/communicator.hpp"
#include "fit/fit.hpp"
#include "fit/release_figures.hpp"
#include "methods/timings.hpp"

namespace dpreduce {

/// Exact metrics of test rows, outside of every guarantee. Counts of classes if each row has one class; metrics of sets
/// if labels are n x K zeros and ones; explained variation if targets are numbers.
using TestFigures = std::variant<ClassCounts, LabelSetFigures, TargetFigures>;

/// JSON of the metrics, with a note that they are exact. If each row has one class and there are at most `most_classes`
/// classes, the JSON has the confusion matrix: K lists of K counts, row t the rows of true class t by predicted class.
/// Precondition: most_classes is at most kMostClassesInMatrix. `shares`, the class shares of training rows, determine
/// the minority classes; may be empty.
nlohmann::json test_json(const TestFigures& figures, std::span<const double> shares, std::size_t most_classes);

/// Note beside test metrics if the test rows are training rows.
nlohmann::json training_rows_note();

/// Report of a run that is not finished yet; its keys are part of the command-line contract. `figures`, of the releases
/// and their noise, may be null. At the coordinator.
nlohmann::json fit_report(const FittedRun& run, const std::optional<TestFigures>& test, ReleaseFigures* figures,
                          int ranks, unsigned threads);

/// Reason in a report why a run with noise is not private. Precondition: there are forfeits.
std::string note_of(const Forfeits& forfeits);

/// Adds the inputs of the run that the user has declared public; adds nothing if there are none.
void add_words(nlohmann::json& report, const FitOptions& options);

/// The epsilon of a spending; null where no accountant reaches.
nlohmann::json finite_epsilon(const Spending& spent, double delta);

/// State of the ledger and its spending. `ledger verify --report` compares the state to find whether the ledger is the
/// same, and whether lines were cut off since. At the coordinator.
nlohmann::json ledger_json(const Releaser& releaser, const PrivacyOptions& privacy);

/// Total spending of all runs on the run's ledger, in words (balance_text). At the coordinator. Precondition: the run's
/// releases are charged to a ledger.
std::string ledger_balance(const FittedRun& run);

/// Seconds of the coordinator, and of every rank if there are several: {"for_release": false, "note", "phases": {phase:
/// seconds}, "ranks": [the same of each]}. For the data's owner alone.
nlohmann::json timings_json(const RankTimings& phases, const std::vector<RankTimings>& of_ranks);

/// Members of a run among silos, the members that dropped out, when and why, and the cost of each kind of message. At
/// the coordinator of a run among silos.
nlohmann::json silos_json(const Communicator& ranks, NoiseSource noise);

/// Seconds that the coordinator waited for messages of each kind: {kind: seconds}. Shown beside the timings, for the
/// data's owner.
nlohmann::json waits_json(const Communicator& ranks);

/// Method that the requested one resolves to: {"method", "chosen", "by"}, of resolved `options`.
nlohmann::json adaptive_json(const MethodOptions& method);

}  // namespace dpreduce
