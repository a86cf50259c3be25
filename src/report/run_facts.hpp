// Reported runs for terminals: the output of a fit, a private evaluation or a dry run, made from its report; and one
// run under every accountant.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fit/fit.hpp"
#include "report/reported_run.hpp"

namespace dpreduce {

/// Promise of a report's "privacy".
Facts promise_facts(const JsonFields& privacy);

/// Blocks with their noise. Rounds that are alike but for their number are in one row.
Table releases_table(std::string caption, const std::vector<ReportedBlock>& blocks);

/// Private selections of a report's "privacy".
Table selections_table(const JsonFields& privacy);

/// Output of a run: promise, ledger, and results. At the coordinator.
std::string run_text(const FittedRun& run, const nlohmann::json& report);

/// Output of a dry run, whose JSON is `plan` (dry_run_json), after its first line.
std::string dry_run_text(const nlohmann::json& plan);

/// Puts a figure of an accountant, such as "epsilon_gdp", into a result of `privacy convert` or `compose`. An absent
/// figure is null, and "not_computed" has the reason under the same key.
void put_figure(nlohmann::json& result, const char* figure, const std::optional<double>& value,
                const std::string& why_not);

/// Facts of such a result: delta, one fact for each figure, and "why" they differ.
Facts accounted_facts(const nlohmann::json& result);

/// Digits of the figures that privacy commands print.
inline constexpr int kAccountedDigits = 15;

}  // namespace dpreduce
