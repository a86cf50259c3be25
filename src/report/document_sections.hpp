// Sections of each kind of document. All throw BadInput naming document and member if a member has another type than
// the program writes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/json_fields.hpp"
#include "report/page.hpp"
#include "report/sections.hpp"

namespace dpreduce {

/// Sentences of the promise that all reported runs share, by section; empty if there are fewer than two runs.
std::vector<Words> shared_promise(std::span<const PageDocument> documents);

/// Sections of a reported run, without the sentences of its promise that `said` contains.
std::vector<Section> fit_sections(const PageDocument& document, const std::vector<Words>& said);

/// Sections of a ledger. The first is the spending of all runs, as facts, for neighbors by `adjacency` and at `delta`
/// (defaults as of json_of_ledger); then follow its growth run by run, open runs, and the releases of each run.
std::vector<Section> ledger_sections(const LedgerState& state, std::optional<double> delta = std::nullopt,
                                     std::optional<Adjacency> adjacency = std::nullopt);
/// Releases and selections that a run has reserved and not charged.
Table remains_table(std::string caption, const Reservation& remains);

/// Sections that compare the reported runs among the documents: all in one table, accuracy over epsilon in one chart,
/// and `shared`, the promise that all of them make. Public readers get private accuracies alone. Empty if there are
/// fewer than two runs.
std::vector<Section> comparison_sections(std::span<const PageDocument> documents, Audience audience,
                                         const std::vector<Words>& shared);

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
Section budget_section(const ReportedRun& run, const JsonFields& report);
Section released_section(const ReportedRun& run, const JsonFields& report);
/// Axis of a chart.
struct Axis {
  std::string label;
  const char* scale = "linear";
  bool is_share = false;
};
/// Chart of lines over the first column of `values`: one line for each of `series`, from the columns that follow.
Chart line_chart(const std::string& title, const std::string& caption, const Axis& x, const Axis& y,
                 const std::vector<std::string>& series, Table values);

}  // namespace dpreduce
