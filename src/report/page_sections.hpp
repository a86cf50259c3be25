// Sections of each kind of document. All throw BadInput naming document and member if a member has another type than
// the program writes.
#pragma once

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
/// Sections of a ledger.
std::vector<Section> ledger_sections(const PageDocument& document);

/// Sections that compare the reported runs among the documents: all in one table, accuracy over epsilon in one chart,
/// and `shared`, the promise that all of them make. Public readers get private accuracies alone. Empty if there are
/// fewer than two runs.
std::vector<Section> comparison_sections(std::span<const PageDocument> documents, Audience audience,
                                         const std::vector<Words>& shared);

// Sections of a fit; empty if the report has nothing for them.

Section budget_section(const JsonFields& report);
Section released_section(const JsonFields& report);
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
