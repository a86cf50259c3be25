// Pieces of an HTML text. Whatever comes out of a document is escaped here, and nowhere else put into the page.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace dpreduce {

/// `text` as it may stand in an element, or in an attribute between double quotes: & < > " ' as character references;
/// control characters but for tab and line feed, and bytes that are no UTF-8, as U+FFFD.
std::string escaped(std::string_view text);

/// JSON as it may stand in <script type="application/json">: ASCII, and without < > &, which can only be within texts
/// and are written there as \u escapes. No text in it can end the element.
std::string embedded(const nlohmann::json& json);

/// A number as people read it, and in <data> exactly as the document has it; "–" for null.
/// @pre a number or null.
std::string figure(const nlohmann::json& number);
/// The same of what a release costs, rounded up, and of its noise, rounded down.
std::string at_most(const nlohmann::json& number);
std::string at_least(const nlohmann::json& number);
/// The same of a share of 1, as per cent with one decimal.
std::string percent(const nlohmann::json& share);
/// A name out of a document: escaped, and by itself in the direction of its own script.
std::string name(std::string_view text);

/// A table with a caption; the first cell of a row is its heading.
class Table {
 public:
  /// `columns` are plain texts; `caption` too.
  Table(std::string_view caption, const std::vector<std::string>& columns);
  /// Cells are HTML.  @pre as many as there are columns.
  void add(const std::vector<std::string>& cells);
  bool is_empty() const { return rows_ == 0; }
  /// In a region of its own that scrolls from side to side, by keyboard too, so that the page does not; empty without
  /// rows.
  std::string html() const;

 private:
  std::string caption_;
  std::vector<std::string> columns_;
  std::vector<bool> is_number_;  // of a column: all of its cells are
  std::size_t rows_ = 0;
  std::string body_;
};

/// The table of a chart's values, which the page's script draws. Without scripts it stands in the chart's place.
struct Chart {
  std::string title;    ///< plain text
  std::string caption;  ///< plain text: what to see, and how to read it
  nlohmann::json spec;  ///< "chart", axes, and which column of the table is what (bundle/values.js)
  Table values;
};
std::string chart_html(const Chart& chart);

/// <p> of plain text.
std::string paragraph(std::string_view text);

/// `body`, which is HTML, behind a plain summary; empty for an empty body.
std::string folded(std::string_view summary, const std::string& body);

/// A list of terms and their values, which are HTML.
std::string facts_html(const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace dpreduce
