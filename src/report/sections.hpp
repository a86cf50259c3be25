// Sections of a run, an evaluation or a ledger for its readers: built once of its JSON, and written as text for
// terminals and as Markdown for cards here, and as HTML for pages in html.hpp.
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

/// Form in which a value is written. A cost is rounded up, and noise down, so that no reader takes a bound for a better
/// one.
enum class Written {
  kText,
  kFigure,       ///< 6 digits, 3 on pages
  kScore,        ///< 3 decimals, 3 digits on pages
  kShare,        ///< 3 decimals, per cent on pages
  kDifference,   ///< of shares: the same, with its sign on pages
  kAtMost,       ///< 3 digits, rounded up
  kAtLeast,      ///< 3 digits, rounded down
  kShareAtMost,  ///< 3 digits, rounded up; per cent on pages
  kBytes,        ///< "12 MiB"
};

/// A value: a text, or a number that pages hold exactly beside what they show of it.
struct Cell {
  Cell(std::string plain) : text(std::move(plain)) {}  // NOLINT(google-explicit-constructor)
  Cell(const char* plain) : text(plain) {}             // NOLINT(google-explicit-constructor)
  Cell(std::string_view plain) : text(plain) {}        // NOLINT(google-explicit-constructor)
  Cell(nlohmann::json value, Written how) : number(std::move(value)), written(how) {}

  std::string text{};
  nlohmann::json number{};  ///< null where there is none
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

struct Fact {
  std::string name;  ///< empty: it goes on with the one before
  Cell value;
  std::string note{};
};
using Facts = std::vector<Fact>;

struct Table {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows{};
  std::string summary{};    ///< what a page shows until the table is opened; empty: the table
  std::string intervals{};  ///< "of one kind" or "of several kinds" where columns 2 to 4 are value, low and high end

  /// Adds a row, whose first cell is its heading. Precondition (asserted): as many cells as there are columns.
  void add(std::vector<Cell> cells);
};

/// Table of values that a page draws as a chart. Without scripts the table is in the chart's place.
struct Chart {
  std::string title;
  std::string caption;  ///< what to see, and how to read it
  nlohmann::json spec;  ///< "chart", axes, and which column of the table is what (bundle/values.js)
  Table values;
};

/// Sentences under a heading.
struct Words {
  std::string heading;  ///< empty: paragraphs
  std::vector<std::string> sentences;
  std::string key{};  ///< what they are about: "holds_for" in JSON, "holds for" on terminals
};

struct Alarm {
  std::string text;
};

using Block = std::variant<Facts, Table, Chart, Words, Alarm>;
using Blocks = std::vector<Block>;

/// Section of a document. Readers see no section that has nothing in its blocks.
struct Section {
  std::string title;
  Blocks blocks;
  std::string owner_only{};  ///< why it is for the data's owner and not for release; empty: it is public
};

/// A member of a JSON object, as facts and tables show it.
struct Column {
  const char* member;
  std::string heading{};  ///< empty: the member's name, in words
  Written written = Written::kFigure;
  std::string note{};
};

/// "sampling rate" of "sampling_rate".
std::string as_words(std::string member);

/// Facts of the members that are there, in this order. Throws BadInput where one has another type.
Facts facts_of(const JsonFields& fields, const std::vector<Column>& columns);

/// A fact for each sentence, the heading before the first of them.
Facts facts_of(const std::vector<Words>& sections);

/// A row for each object. Columns that no object has are left out, but the first. Throws as facts_of.
Table table_of(std::string caption, const std::vector<JsonFields>& objects, const std::vector<Column>& columns,
               std::string summary = "");

// For terminals: costs and noise in so many digits, lines of at most so many characters.

std::string text_of(const Cell& cell, int digits = 3);
/// A line for each fact.
std::string text_of(const Facts& facts, int digits = 3, std::size_t columns = printed_columns());
/// "epsilon 1, delta 1e-06".
std::string line_of(const Facts& facts, int digits = 3);
/// Aligned columns under the caption; nothing without rows. The widest columns are broken until all have room.
std::string text_of(const Table& table, int digits = 3, std::size_t columns = printed_columns());

/// Prints a result as JSON, or as what `text` makes of it.
void print_result(OutputFormat format, const nlohmann::json& json, const std::function<std::string()>& text);

// For cards.

/// Text that Markdown takes for nothing but text.
std::string as_text(std::string_view text);
/// Sentences, as text, one below the other.
std::string bullets(const std::vector<std::string>& sentences);
std::string markdown_of(const Facts& facts);
std::string markdown_of(const Table& table);

}  // namespace dpreduce
