// Sections of a run, an evaluation or a ledger for its readers. Sections are built once. This file writes them as text
// for terminals and as Markdown for cards; html.hpp writes them as HTML for pages.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/json_fields.hpp"
#include "common/base/standard_output.hpp"

namespace dpreduce {

/// Form in which a value is written. Costs are rounded up and noise is rounded down, so that no reader mistakes a bound
/// for a better one.
enum class Written {
  kText,
  kFigure,       ///< 6 digits, 3 on pages
  kScore,        ///< 3 decimals, 3 digits on pages
  kShare,        ///< 3 decimals, per cent on pages
  kDifference,   ///< difference of shares: as kShare, with its sign on pages
  kAtMost,       ///< 3 digits, rounded up
  kAtLeast,      ///< 3 digits, rounded down
  kShareAtMost,  ///< 3 digits, rounded up; per cent on pages
  kBytes,        ///< "12 MiB"
};

/// Value: a text, or a number, of which pages hold the exact value beside the rounded one.
struct Cell {
  Cell(std::string plain) : text(std::move(plain)) {}  // NOLINT(google-explicit-constructor)
  Cell(const char* plain) : text(plain) {}             // NOLINT(google-explicit-constructor)
  Cell(std::string_view plain) : text(plain) {}        // NOLINT(google-explicit-constructor)
  Cell(nlohmann::json value, Written how) : number(std::move(value)), written(how) {}

  std::string text{};
  nlohmann::json number{};  ///< null for a text
  Written written = Written::kText;
};

inline Cell figure(nlohmann::json number) {
  return {std::move(number), Written::kFigure};
}
inline Cell percent(nlohmann::json share) {
  return {std::move(share), Written::kShare};
}
inline Cell at_most(nlohmann::json number) {
  return {std::move(number), Written::kAtMost};
}
inline Cell at_least(nlohmann::json number) {
  return {std::move(number), Written::kAtLeast};
}

/// Named value, with an optional note.
struct Fact {
  std::string name;  ///< empty: continues the fact before
  Cell value;
  std::string note{};
};
using Facts = std::vector<Fact>;

/// Table under a caption; the first cell of each row is its heading.
struct Table {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows{};
  std::string summary{};    ///< text that a page shows until the table is opened, a card in its place; empty: open
  std::string intervals{};  ///< "of one kind" or "of several kinds" if columns 2 to 4 are value, low and high end

  /// Adds a row, whose first cell is its heading. Precondition (asserted): as many cells as there are columns.
  void add(std::vector<Cell> cells);
};

/// Table of values that a page draws as a chart. Without scripts the table takes the chart's place.
struct Chart {
  std::string title;
  std::string caption;  ///< what the chart shows and how to read it
  nlohmann::json spec;  ///< "chart", axes, and the role of each column of the table (bundle/values.js)
  Table values;
};

/// Sentences under a heading.
struct Words {
  Words() = default;
  /// Leaves out sentences that are empty.
  Words(std::string over, std::vector<std::string> said, std::string subject = "")
      : heading(std::move(over)), sentences(std::move(said)), key(std::move(subject)) {
    std::erase(sentences, "");
  }

  std::string heading{};  ///< empty: paragraphs
  std::vector<std::string> sentences{};
  std::string key{};  ///< subject: "holds_for" in JSON, "holds for" on terminals
};

/// Warning paragraph; none if the text is empty.
struct Alarm {
  std::string text;
};

using Block = std::variant<Facts, Table, Chart, Words, Alarm>;
using Blocks = std::vector<Block>;

/// Section of a document. Readers see no section whose blocks are all empty.
struct Section {
  std::string title;
  Blocks blocks;
  std::string owner_only{};  ///< why the section is for the data's owner and not for release; empty: it is public
};

/// Member of a JSON object, as facts and tables show it.
struct Column {
  const char* member;
  std::string heading{};  ///< empty: the member's name, in words
  Written written = Written::kFigure;
  std::string note{};
};

inline Column text_in(const char* member, std::string heading = "") {
  return {member, std::move(heading), Written::kText};
}
inline Column figure_in(const char* member, std::string heading = "") {
  return {member, std::move(heading)};
}
inline Column cost_in(const char* member, std::string heading = "") {
  return {member, std::move(heading), Written::kAtMost};
}
inline Column noise_in(const char* member, std::string heading = "") {
  return {member, std::move(heading), Written::kAtLeast};
}

/// Facts of the members that are present, in this order. Throws BadInput if a member has another type.
Facts facts_of(const JsonFields& fields, const std::vector<Column>& columns);

/// Fact for each sentence, with the heading before the first of its section.
Facts facts_of(const std::vector<Words>& sections);

/// Table with a row for each object. A column that no object has is left out, unless it is the first. Throws as
/// facts_of.
Table table_of(std::string caption, const std::vector<JsonFields>& objects, const std::vector<Column>& columns,
               std::string summary = "");

// Terminals: `digits` is the number of digits of costs and noise, `columns` the length of the longest line.

std::string text_of(const Cell& cell, int digits = 3);
/// Text with a line for each fact.
std::string text_of(const Facts& facts, int digits = 3, std::size_t columns = printed_columns());
/// All facts in one line: "epsilon 1, delta 1e-06".
std::string line_of(const Facts& facts, int digits = 3);
/// Aligned columns under the caption; empty if the table has no rows. The widest columns are broken until all fit.
std::string text_of(const Table& table, int digits = 3, std::size_t columns = printed_columns());

/// Facts, open tables and sentences of a section under its title; empty if it has none.
std::string text_of(const Section& section);

/// Prints a result as JSON, or as the text that `text` returns.
void print_result(OutputFormat format, const nlohmann::json& json, const std::function<std::string()>& text);

// Cards.

/// Text without_controls, Markdown's special characters escaped.
std::string as_text(std::string_view text);
std::string markdown_of(const Facts& facts);
/// Table under its caption; of a folded one its summary and length; empty if it has no rows.
std::string markdown_of(const Table& table);
/// All of a section but charts under its title; empty if it has nothing else.
std::string markdown_of(const Section& section);

}  // namespace dpreduce
