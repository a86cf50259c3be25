// Sections of each kind of document. All throw BadInput naming document and member where one has another type than
// reports have.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/base/json_fields.hpp"
#include "report/page.hpp"
#include "report/sections.hpp"

namespace dpreduce {

/// Sentences of the promise that all reported runs share, by section; none where there are fewer than two runs.
std::vector<Words> shared_promise(std::span<const PageDocument> documents);

/// Sections of a reported run, without the sentences of its promise that are `said` before.
std::vector<Section> fit_sections(const PageDocument& document, const std::vector<Words>& said);
std::vector<Section> ledger_sections(const PageDocument& document);

/// Sections that compare the reported runs among the documents: all in one table, accuracy over epsilon in one chart,
/// and what all of them promise, which is `shared`. The public gets private accuracies alone. Empty where there are
/// less than two runs.
std::vector<Section> comparison_sections(std::span<const PageDocument> documents, Audience audience,
                                         const std::vector<Words>& shared);

// Parts of a fit, with nothing in them where the report has nothing for it.

Section budget_section(const JsonFields& report);
Section released_section(const JsonFields& report);
/// A chart of lines: a column of the table for each of `series`, all over the first.
struct Axis {
  std::string label;
  const char* scale = "linear";
  bool is_share = false;
};
Chart line_chart(const std::string& title, const std::string& caption, const Axis& x, const Axis& y,
                 const std::vector<std::string>& series, Table values);

}  // namespace dpreduce
