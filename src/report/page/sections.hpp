// What a page says of each kind of document, section by section.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/base/json_fields.hpp"
#include "report/page/page.hpp"

namespace dpreduce {

struct Section {
  std::string title;         ///< plain text
  std::string body;          ///< HTML
  std::string owner_only{};  ///< why it is for the data's owner and not for release; empty: it is public
};

/// All throw BadInput naming document and member where one has another type than reports have.

std::vector<Section> fit_sections(const PageDocument& document);
std::vector<Section> ledger_sections(const PageDocument& document);

/// The reported runs among the documents in one table, and accuracy over epsilon in one chart; the public gets private
/// accuracies alone. Empty where they are less than two.
std::vector<Section> comparison_sections(std::span<const PageDocument> documents, Audience audience);

/// Sections of a fit: each adds nothing where the report has nothing for it.
void add_budget(std::vector<Section>& sections, const JsonFields& report);
void add_released_values(std::vector<Section>& sections, const JsonFields& report);
/// The chart, or of many classes the table, of numbers of rows by true and predicted class; `noise` is what is said of
/// theirs, empty of exact ones.
std::string confusion_chart(const JsonFields& owner, const std::string& member, const std::vector<std::string>& names,
                            const std::string& noise);
/// Figures about test rows with noise, and what tables there are of them.
void add_told_figures(std::vector<Section>& sections, const PageDocument& document, const JsonFields& report);

}  // namespace dpreduce
