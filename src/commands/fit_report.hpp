// What a fit says when it is done. Public constants, released values, and figures about test rows; never an exact count
// or sum of training rows.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "aggregator/release/release.hpp"
#include "commands/evaluation.hpp"
#include "commands/plan_report.hpp"
#include "common/model/classifier.hpp"
#include "run/timings.hpp"

namespace dpreduce {

/// The report; keys are part of the command-line contract.
nlohmann::json fit_report(const FitOptions& options, const FitPlan& plan, const Classifier& classifier,
                          const std::optional<TestFigures>& test, const Timings& timings, int ranks, unsigned threads);

/// The same, in a few lines, or as JSON with --format json.
void print_fit(const FitOptions& options, const FitPlan& plan, const nlohmann::json& report, const Timings& timings);

/// {"setting", "candidates", "by"}: what --choose chose.
nlohmann::json choice_json(const FitOptions& options, const FitPlan& plan, const std::string& setting);

/// {"method", "chosen", "by"}: which method the stated one stands for, of resolved `options`.
nlohmann::json adaptive_json(const FitOptions& stated, const FitOptions& options);

/// {"run", "public_key", "lines", "last_line_sha256"}: where the ledger stands, so that `ledger verify --report` can
/// tell whether it is the same one, and lines were cut off since. On the coordinator.
nlohmann::json ledger_json(const Releaser& releaser);

/// For each class the public rows that stand for it, counted from 0 over --public-x.
nlohmann::json prototypes_json(const Selection& chosen);

}  // namespace dpreduce
