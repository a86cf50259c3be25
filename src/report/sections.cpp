#include "report/sections.hpp"

#include <algorithm>
#include <cctype>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/number_text.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kUsualName = 10;  // letters of a fact's name
constexpr std::size_t kUsualValue = 18;
constexpr double kMib = 1 << 20;

// A document's text may hold what a terminal obeys.
std::string for_terminal(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
  return text;
}

Cell cell_of(const JsonFields& fields, const Column& column) {
  if (column.written == Written::kText) return fields.text(column.member);
  return {fields.number(column.member), column.written};
}

std::string heading_of(const Column& column) {
  return column.heading.empty() ? as_words(column.member) : column.heading;
}

// Drawings are for pages alone: a column of nothing else is left out.
std::vector<std::size_t> columns_with_words(const Table& table) {
  std::vector<std::size_t> columns;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (!std::ranges::all_of(table.rows, [&](const auto& row) { return !row[column].drawing.empty(); }))
      columns.push_back(column);
  }
  return columns;
}

std::string table_line(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

}  // namespace

void Table::add(std::vector<Cell> cells) {
  DPREDUCE_ASSERT(cells.size() == columns.size());
  rows.push_back(std::move(cells));
}

std::string as_words(std::string member) {
  std::ranges::replace(member, '_', ' ');
  return member;
}

Facts facts_of(const JsonFields& fields, const std::vector<Column>& columns) {
  Facts facts;
  for (const Column& column : columns) {
    if (fields.has(column.member)) facts.push_back({heading_of(column), cell_of(fields, column), column.note});
  }
  return facts;
}

std::string line_of(const Facts& facts, int digits) {
  std::vector<std::string> parts;
  for (const Fact& fact : facts) parts.push_back(for_terminal(fact.name + " " + text_of(fact.value, digits)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Facts facts_of(const std::vector<Words>& sections) {
  Facts facts;
  for (const Words& words : sections) {
    for (const std::string& sentence : words.sentences) {
      facts.push_back({&sentence == &words.sentences.front() ? as_words(words.key) : "", sentence});
    }
  }
  return facts;
}

Table table_of(std::string caption, const std::vector<JsonFields>& objects, const std::vector<Column>& columns,
               std::string summary) {
  std::vector<Column> shown;
  for (const Column& column : columns) {
    const auto has_it = [&](const JsonFields& object) { return object.has(column.member); };
    if (shown.empty() || std::ranges::any_of(objects, has_it)) shown.push_back(column);
  }
  Table table{.caption = std::move(caption), .columns = {}, .summary = std::move(summary)};
  for (const Column& column : shown) table.columns.push_back(heading_of(column));
  for (const JsonFields& object : objects) {
    std::vector<Cell> cells;
    for (const Column& column : shown) cells.push_back(cell_of(object, column));
    table.add(std::move(cells));
  }
  return table;
}

std::string text_of(const Cell& cell, int digits) {
  if (cell.written == Written::kText) return cell.text;
  if (cell.number.is_null()) return "none";
  if (cell.number.is_number_integer() && cell.written != Written::kBytes) return json_text(cell.number);
  const auto number = cell.number.get<double>();
  switch (cell.written) {
    case Written::kAtMost:
    case Written::kShareAtMost:
      return upper_figure(number, digits);
    case Written::kAtLeast:
      return lower_figure(number, digits);
    case Written::kBytes:
      return fmt::format("{:.3g} MiB", number / kMib);
    case Written::kFigure:
      return fmt::format("{:.6g}", number);
    default:
      return fmt::format("{:.3f}", number);
  }
}

std::string text_of(const Facts& facts, int digits) {
  std::size_t width = kUsualName;
  for (const Fact& fact : facts) width = std::max(width, fact.name.size());
  std::string text;
  for (const Fact& fact : facts) {
    const std::string value = for_terminal(text_of(fact.value, digits));
    text += fmt::format("{:<{}} {:<{}}{}{}\n", fact.name, width, value, fact.note.empty() ? 0 : kUsualValue,
                        fact.note.empty() ? "" : " ", fact.note);
  }
  return text;
}

std::string text_of(const Table& table, int digits) {
  if (table.rows.empty()) return {};
  const std::vector<std::size_t> columns = columns_with_words(table);
  std::vector<std::string> lines(table.rows.size() + 1);
  for (const std::size_t column : columns) {
    std::vector<std::string> cells{table.columns[column]};
    for (const auto& row : table.rows) cells.push_back(for_terminal(text_of(row[column], digits)));
    std::size_t width = 0;
    for (const std::string& cell : cells) width = std::max(width, cell.size());
    const bool is_text = table.rows.front()[column].written == Written::kText;
    for (std::size_t line = 0; line < lines.size(); ++line) {
      lines[line] += (column == columns.front() ? "  " : "   ") +
                     (is_text ? fmt::format("{:<{}}", cells[line], column == columns.back() ? 0 : width)
                              : fmt::format("{:>{}}", cells[line], width));
    }
  }
  return fmt::format("{}{}{}\n", table.caption, table.caption.empty() ? "" : "\n", fmt::join(lines, "\n"));
}

void print_told(OutputFormat format, const nlohmann::json& json, const std::function<std::string()>& text) {
  fmt::print("{}", format == OutputFormat::kJson ? readable_json_text(json, 2) + "\n" : text());
}

std::string as_text(std::string_view text) {
  constexpr std::string_view kMarks = "\\`*_[]<>|~&$#";
  std::string plain;
  for (const char c : text) {
    if (kMarks.find(c) != std::string_view::npos) plain += '\\';
    plain += c;
  }
  return plain;
}

std::string bullets(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += fmt::format("- {}\n", as_text(sentence));
  return text;
}

std::string markdown_of(const Facts& facts) {
  Table table{.caption = {}, .columns = {"", ""}};
  for (const Fact& fact : facts) table.add({fact.name, fact.value});
  return markdown_of(table);
}

std::string markdown_of(const Table& table) {
  std::vector<std::string> heads;
  const std::vector<std::size_t> columns = columns_with_words(table);
  for (const std::size_t column : columns) heads.push_back(table.columns[column]);
  std::string text = table_line(heads) + table_line(std::vector<std::string>(heads.size(), "---"));
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const std::size_t column : columns) cells.push_back(as_text(text_of(row[column])));
    text += table_line(cells);
  }
  return text;
}

}  // namespace dpreduce
