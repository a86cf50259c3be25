// Reported runs for terminals: the output of a fit, a private evaluation or a dry run, made of its report; and one run
// as every accountant states it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/base/json_fields.hpp"
#include "fit/fit.hpp"
#include "report/reported_run.hpp"
#include "report/sections.hpp"

namespace dpreduce {

/// The promise of a report's "privacy".
Facts promise_facts(const JsonFields& privacy);

/// Blocks with their noise. Rounds that are alike but for their number are in one row.
Table releases_table(std::string caption, const std::vector<ReportedBlock>& blocks);

Table selections_table(const JsonFields& privacy);

/// Promise, ledger, and what was made and found. At the coordinator.
std::string run_text(const FittedRun& run, const nlohmann::json& report);

/// A dry run, whose JSON is `plan` (dry_run_json).
std::string dry_run_text(const nlohmann::json& plan);

/// Puts a figure of an accountant, "epsilon_gdp", into a result of `privacy convert` or `compose`: null where it cannot
/// be given, and "not_computed" has the reason under the same key.
void put_figure(nlohmann::json& result, const char* figure, const std::optional<double>& value,
                const std::string& why_not);

/// Delta, one fact for each of these figures, and "why" they differ.
Facts accounted_facts(const nlohmann::json& result);

/// Digits of the figures that privacy commands print.
inline constexpr int kAccountedDigits = 15;

}  // namespace dpreduce
