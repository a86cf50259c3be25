// Sections of a reported run, for pages and cards. All throw BadInput naming document and member if a member has
// another type than the program writes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/reported_run.hpp"

namespace dpreduce {

/// Sections of a reported run, without the sentences of its promise that `said` contains. `name` is the one of the
/// report for readers.
std::vector<Section> fit_sections(const ReportedRun& run, const std::string& name, const std::vector<Words>& said);

// Sections of a run; empty if the report has nothing for them.

/// Says what epsilon means, or that the run is not private.
Section meaning_section(const ReportedRun& run);
/// Says what was promised, and to whom, in the words of `privacy explain`, without the sentences that `said` contains,
/// and those about an attacker, who is in meaning_section.
Section promise_section(const ReportedRun& run, const std::vector<Words>& said = {});
/// Largest number of classes whose exact figures a card has: those with the lowest ones.
inline constexpr std::size_t kMostClassesInCard = 100;
/// Figures of test rows: those with noise, each with its interval, or exact ones. Without counts, for cards, exact ones
/// have neither numbers of rows nor advice.
Section test_section(const ReportedRun& run, const JsonFields& report, bool has_counts);
/// Exact figures of each class, as a chart with counts, or without them as a table, unless they are about training
/// rows.
Section class_section(const JsonFields& report, bool has_counts);
/// Section of a report's "coefficients": what they are about, the largest ones, each with its interval if there is one,
/// and intercepts and ranges of targets. Without blocks if the report has none. Throws as JsonFields.
Section coefficients_section(const JsonFields& report);
Section budget_section(const ReportedRun& run, const JsonFields& report);
Section released_section(const ReportedRun& run, const JsonFields& report);
/// Chart of lines over the first column of `values`: one line for each of `series`, from the columns that follow. Axes
/// are {"label", "scale", "unit"}: without a scale they are linear; the unit is "share", or there is none.
Chart line_chart(const std::string& title, const std::string& caption, nlohmann::json x, nlohmann::json y,
                 const std::vector<std::string>& series, Table values);

}  // namespace dpreduce
