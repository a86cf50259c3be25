#include "report/html.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <regex>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/text.hpp"

namespace dpreduce {
namespace {

constexpr const char* kNothing = "–";

constexpr std::pair<char32_t, const char*> kReferences[] = {
    {U'&', "&amp;"}, {U'<', "&lt;"}, {U'>', "&gt;"}, {U'"', "&quot;"}, {U'\'', "&#39;"}};

// Three digits; whole numbers with groups of three digits, as 17,287, where there would be more before the point.
std::string grouped_figure(double number) {
  if (!(std::abs(number) >= 999.5 && std::abs(number) < 1e9)) return fmt::format("{:.3g}", number);
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t end = digits.size(); end > (number < 0.0 ? 4U : 3U);) digits.insert(end -= 3, ",");
  return digits;
}

std::string html_of(const Words& words) {
  std::string html;
  for (std::string sentence : words.sentences) {
    if (words.heading.empty()) {
      sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
      html += "<p>" + html_of_words(sentence) + (sentence.back() == '.' ? "" : ".") + "</p>\n";
    } else {
      html += "<li>" + html_of_words(sentence) + "</li>\n";
    }
  }
  if (words.heading.empty()) return html;
  return fmt::format("<dl class=\"words\">\n<dt>{}</dt>\n<dd><ul>\n{}</ul>\n</dd>\n</dl>\n", escaped(words.heading),
                     html);
}

std::string html_of(const Facts& facts) {
  if (facts.empty()) return {};
  std::string html = "<dl class=\"facts\">\n";
  for (const Fact& fact : facts) {
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(fact.name), html_of(fact.value));
  }
  return html + "</dl>\n";
}

std::string html_of(const Alarm& alarm) {
  return alarm.text.empty() ? "" : fmt::format("<p class=\"alarm\">{}</p>\n", html_of_words(alarm.text));
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const char32_t character = take_code_point(text);
    const auto reference = std::ranges::find(kReferences, character, &std::pair<char32_t, const char*>::first);
    const bool is_shown = !is_control(character) || character == U'\t' || character == U'\n';
    if (reference != std::end(kReferences))
      result += reference->second;
    else
      append_code_point(is_shown ? character : kReplacementCharacter, result);
  }
  return result;
}

std::string html_of_words(std::string_view text) {
  // Bounded repetitions: the recursion of std::regex is as deep as its matches are long.
  static const std::regex kPower(R"(\b(\d(?:\.\d{1,17})?)e\+?(-?)0{0,3}(\d{1,3})\b)");
  const std::string plain = escaped(text);
  std::string html;
  auto end = plain.begin();
  for (std::sregex_iterator power(plain.begin(), plain.end(), kPower); power != std::sregex_iterator(); ++power) {
    const std::smatch& match = *power;
    html += match.prefix().str() + (match[1] == "1" ? "" : match[1].str() + "·") + "10<sup>" +
            (match[2] == "-" ? "−" : "") + match[3].str() + "</sup>";
    end = match[0].second;
  }
  return html + std::string(end, plain.end());
}

std::string embedded(const nlohmann::json& json) {
  std::string result;
  for (const char c : ascii_json_text(json)) {
    if (c == '<' || c == '>' || c == '&') {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::string html_of_name(std::string_view text) {
  return "<bdi>" + escaped(text) + "</bdi>";
}

std::string html_of(const Cell& cell) {
  if (cell.written == Written::kText) return cell.text == kNothing ? cell.text : html_of_name(cell.text);
  if (cell.number.is_null()) return kNothing;
  DPREDUCE_ASSERT(cell.number.is_number());
  const bool is_rounded = cell.written == Written::kAtMost || cell.written == Written::kAtLeast;
  const auto number = cell.number.get<double>();
  const bool is_whole =
      cell.number.is_number_integer() && (cell.written != Written::kFigure || std::abs(number) >= 1e9);
  return fmt::format(
      "<data value=\"{}\">{}</data>", json_text(cell.number),
      html_of_words(cell.written == Written::kShare         ? fmt::format("{:.1f} %", 100.0 * number)
                    : cell.written == Written::kDifference  ? fmt::format("{:+.1f} %", 100.0 * number)
                    : cell.written == Written::kShareAtMost ? upper_figure(100.0 * number, number < 1.0 ? 2 : 3) + " %"
                    : is_rounded || is_whole                ? text_of(cell)
                                                            : grouped_figure(number)));
}

std::string html_of(const Table& table) {
  if (table.rows.empty()) return {};
  const auto is_number = [](const Cell& cell) { return cell.written != Written::kText || cell.text == kNothing; };
  std::string heads;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const bool are_numbers =
        column > 0 && std::ranges::all_of(table.rows, [&](const auto& row) { return is_number(row[column]); });
    heads += fmt::format("<th scope=\"col\"{}>{}</th>", are_numbers ? " class=\"number\"" : "",
                         escaped(table.columns[column]));
  }
  std::string body;
  for (const auto& row : table.rows) {
    body += "<tr><th scope=\"row\">" + html_of(row.front()) + "</th>";
    for (std::size_t column = 1; column < row.size(); ++column) {
      body += (is_number(row[column]) ? "<td class=\"number\">" : "<td>") + html_of(row[column]) + "</td>";
    }
    body += "</tr>\n";
  }
  const std::string html = fmt::format(
      "<div class=\"scroll\" role=\"region\" aria-label=\"{0}\" tabindex=\"0\">\n<table{3}>\n<caption>{0}</caption>\n"
      "<thead><tr>{1}</tr></thead>\n<tbody>\n{2}</tbody>\n</table>\n</div>\n",
      escaped(table.caption), heads, body,
      table.intervals.empty() ? "" : fmt::format(" data-intervals=\"{}\"", table.intervals));
  if (table.summary.empty()) return html;
  return fmt::format("<details>\n<summary>{}</summary>\n{}</details>\n", html_of_words(table.summary), html);
}

std::string html_of(const Chart& chart) {
  if (chart.values.rows.empty()) return {};
  nlohmann::json spec = chart.spec;
  spec["label"] = chart.title + ". " + chart.caption;
  return fmt::format(
      "<figure data-chart=\"{}\">\n<figcaption><strong>{}.</strong> {}</figcaption>\n<div class=\"plot\" "
      "hidden></div>\n"
      "<script type=\"application/json\">{}</script>\n<details open>\n<summary>Values: {}</summary>\n{}</details>\n"
      "</figure>\n",
      escaped(spec["chart"].get<std::string>()), html_of_words(chart.title), html_of_words(chart.caption),
      embedded(spec), html_of_words(chart.title), html_of(chart.values));
}

std::string html_of(const Section& section, const std::string& id) {
  std::string body;
  for (const Block& block : section.blocks) {
    body += std::visit([](const auto& part) { return html_of(part); }, block);
  }
  if (body.empty()) return {};
  const std::string& why = section.owner_only;
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\"{1}>\n<h3 id=\"{0}-title\">{2}{3}</h3>\n{4}{5}</section>\n", id,
      why.empty() ? "" : " class=\"owners\"", escaped(section.title),
      why.empty() ? "" : " <span class=\"owner\">for the data's owner</span>",
      why.empty() ? "" : fmt::format("<p class=\"why\">For the data's owner, not for release: {}.</p>\n", escaped(why)),
      body);
}

}  // namespace dpreduce
