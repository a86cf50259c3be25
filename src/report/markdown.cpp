#include "report/markdown.hpp"

#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/number_text.hpp"

namespace dpreduce {

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

std::string table_row(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string table_head(const std::vector<std::string>& cells) {
  return table_row(cells) + table_row(std::vector<std::string>(cells.size(), "---"));
}

std::string releases_table(const std::vector<ReportedBlock>& blocks) {
  std::string text = table_head({"block", "release", "times", "coordinates", "noise multiplier", "sampling rate"});
  for (const std::span<const ReportedBlock> rounds : rounds_of(blocks)) {
    const ReportedBlock& block = rounds.front();
    const std::string label = as_text(block.release);
    text +=
        table_row({as_text(block.name), rounds.size() == 1 ? label : label + " to " + as_text(rounds.back().release),
                   fmt::format("{}", rounds.size()), fmt::format("{}", block.coordinates),
                   lower_figure(block.sigma / block.sensitivity), fmt::format("{:.3g}", block.sampling_rate)});
  }
  return text;
}

std::string told_table(const ToldFigures& told) {
  std::string text = fmt::format(
      "{}: each figure has noise, and an interval that by itself holds the truth about rows like these with "
      "probability "
      "{:g}.\n\n",
      told.is_private ? "**Private**" : "**Not private**", told.level);
  text += table_head({"figure", "value", "from", "to", "noise"});
  for (const ToldList& list : told.lists) {
    if (list.figures.size() > kMostToldByOne) {
      text += table_row({fmt::format("{} of {}, in the report", list.kind, list.figures.size()), "", "", "", ""});
      continue;
    }
    for (const ToldFigure& figure : list.figures) {
      std::vector<std::string> cells = words_of(figure);
      cells.insert(cells.begin(), as_text(figure.name));
      text += table_row(cells);
    }
  }
  return text;
}

}  // namespace dpreduce
