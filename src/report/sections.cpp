#include "report/sections.hpp"

#include <algorithm>
#include <sstream>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/text.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kUsualName = 10;  // letters of a fact's name
constexpr std::size_t kUsualValue = 18;
constexpr double kMib = 1 << 20;

Cell cell_of(const JsonFields& fields, const Column& column) {
  if (column.written == Written::kText) return fields.text(column.member);
  return {fields.number(column.member), column.written};
}

// Name of a member: "sampling rate" for "sampling_rate".
std::string as_words(std::string member) {
  std::ranges::replace(member, '_', ' ');
  return member;
}

std::string heading_of(const Column& column) {
  return column.heading.empty() ? as_words(column.member) : column.heading;
}

std::string table_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += fmt::format("| {} ", as_text(cell));
  return line + "|\n";
}

// A column of a table: its heading, then its cells.
struct PrintedColumn {
  std::vector<std::string> cells;
  std::size_t width = 0;
  std::size_t longest_word = 0;
};

// Columns are as wide as their cells where they have room, else as narrow as their longest words.
std::vector<PrintedColumn> printed_columns_of(const Table& table, int digits, std::size_t columns) {
  std::vector<PrintedColumn> printed(table.columns.size());
  std::size_t taken = 0;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    PrintedColumn& one = printed[column];
    one.cells.push_back(table.columns[column]);
    for (const auto& row : table.rows) one.cells.push_back(without_controls(text_of(row[column], digits)));
    for (const std::string& cell : one.cells) {
      one.width = std::max(one.width, cell.size());
      std::istringstream words(cell);
      for (std::string word; words >> word;) one.longest_word = std::max(one.longest_word, word.size());
    }
    taken += one.width + 3;
  }
  const auto room = [](const PrintedColumn& one) { return one.width - one.longest_word; };
  for (; taken > columns; --taken) {
    const auto widest = std::ranges::max_element(printed, {}, room);
    if (room(*widest) == 0) break;
    --widest->width;
  }
  return printed;
}

std::string markdown_of(const Words& words) {
  if (words.sentences.empty()) return {};
  std::string text = words.heading.empty() ? "" : fmt::format("### {}\n\n", words.heading);
  for (const std::string& sentence : words.sentences) text += fmt::format("- {}\n", as_text(sentence));
  return text + "\n";
}

std::string markdown_of(const Alarm& alarm) {
  return alarm.text.empty() ? "" : fmt::format("**{}**\n\n", as_text(alarm.text));
}

std::string markdown_of(const Chart& /*chart*/) {
  return {};
}

}  // namespace

void Table::add(std::vector<Cell> cells) {
  DPREDUCE_ASSERT(cells.size() == columns.size());
  rows.push_back(std::move(cells));
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
  for (const Fact& fact : facts) parts.push_back(without_controls(fact.name + " " + text_of(fact.value, digits)));
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
  Table table{.caption = std::move(caption), .columns = {}, .summary = std::move(summary)};
  std::vector<Column> shown;
  for (const Column& column : columns) {
    const auto has_it = [&](const JsonFields& object) { return object.has(column.member); };
    if (!shown.empty() && std::ranges::none_of(objects, has_it)) continue;
    shown.push_back(column);
    table.columns.push_back(heading_of(column));
  }
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

std::string text_of(const Facts& facts, int digits, std::size_t columns) {
  std::size_t width = kUsualName;
  for (const Fact& fact : facts) width = std::max(width, fact.name.size());
  std::string text;
  for (const Fact& fact : facts) {
    const std::string value = without_controls(text_of(fact.value, digits));
    const std::string line = fmt::format("{:<{}} {:<{}}{}{}", fact.name, width, value,
                                         fact.note.empty() ? 0 : kUsualValue, fact.note.empty() ? "" : " ", fact.note);
    text += broken_line(line, columns, width + 1 < columns ? width + 1 : 0) + "\n";
  }
  return text;
}

std::string text_of(const Table& table, int digits, std::size_t columns) {
  if (table.rows.empty()) return {};
  const std::vector<PrintedColumn> printed = printed_columns_of(table, digits, columns);
  std::string text = broken_lines(table.caption, columns) + (table.caption.empty() ? "" : "\n");
  for (std::size_t row = 0; row <= table.rows.size(); ++row) {
    std::vector<std::string> lines;
    std::size_t begin = 0;  // of the column
    for (const PrintedColumn& column : printed) {
      const bool is_text = table.rows.front()[&column - printed.data()].written == Written::kText;
      std::istringstream broken(broken_line(column.cells[row], column.width, 0));
      std::string part;
      for (std::size_t line = 0; std::getline(broken, part); ++line) {
        if (line == lines.size()) lines.emplace_back();
        lines[line].resize(begin, ' ');
        lines[line] += (begin == 0 ? "  " : "   ") + (is_text ? part : fmt::format("{:>{}}", part, column.width));
      }
      begin += column.width + (begin == 0 ? 2 : 3);
    }
    text += fmt::format("{}\n", fmt::join(lines, "\n"));
  }
  return text;
}

std::string text_of(const Section& section) {
  std::string text;
  for (const Block& block : section.blocks) {
    if (const auto* facts = std::get_if<Facts>(&block)) text += text_of(*facts);
    const auto* table = std::get_if<Table>(&block);
    if (table != nullptr && table->summary.empty()) text += text_of(*table);
    if (const auto* words = std::get_if<Words>(&block)) {
      for (const std::string& one : words->sentences)
        text += broken_lines(without_controls(one), printed_columns()) + "\n";
    }
  }
  return text.empty() ? text : section.title + "\n" + text;
}

void print_result(OutputFormat format, const nlohmann::json& json, const std::function<std::string()>& text) {
  fmt::print("{}", format == OutputFormat::kJson ? readable_json_text(json, 2) + "\n" : text());
}

std::string as_text(std::string_view text) {
  constexpr std::string_view kMarks = "\\`*_[]<>|~&$#";
  std::string plain;
  for (const char c : without_controls(text)) {
    if (kMarks.find(c) != std::string_view::npos) plain += '\\';
    plain += c;
  }
  return plain;
}

std::string markdown_of(const Facts& facts) {
  Table table{.caption = {}, .columns = {"", ""}};
  for (const Fact& fact : facts) table.add({fact.name, fact.value});
  return markdown_of(table);
}

std::string markdown_of(const Table& table) {
  if (table.rows.empty()) return {};
  if (!table.summary.empty()) {
    return fmt::format("{} are in the report ({} lines).\n\n", as_text(table.summary), table.rows.size());
  }
  std::string text = table.caption.empty() ? "" : as_text(table.caption) + ":\n\n";
  text += table_line(table.columns) + table_line(std::vector<std::string>(table.columns.size(), "---"));
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const Cell& cell : row) cells.push_back(text_of(cell));
    text += table_line(cells);
  }
  return text + "\n";
}

std::string markdown_of(const Section& section) {
  std::string text;
  for (const Block& block : section.blocks) {
    text += std::visit([](const auto& part) { return markdown_of(part); }, block);
  }
  if (text.empty()) return text;
  const std::string why = section.owner_only.empty()
                              ? ""
                              : fmt::format("**Outside of the guarantee**: {}.\n\n", as_text(section.owner_only));
  return fmt::format("## {}\n\n{}{}", section.title, why, text);
}

}  // namespace dpreduce
