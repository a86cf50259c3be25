#include "report/page/html.hpp"

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/number_text.hpp"

namespace dpreduce {
namespace {

constexpr const char* kNothing = "–";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The same text, bytes that are no UTF-8 replaced.
std::string as_utf8(std::string_view text) {
  const std::string quoted = readable_json_text(nlohmann::json(text));
  return parse_json(quoted).get<std::string>();
}

std::string data(const nlohmann::json& number, const std::string& shown) {
  return fmt::format("<data value=\"{}\">{}</data>", json_text(number), shown);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : as_utf8(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') || c == 0x7F) {
          result += kReplacement;
        } else {
          result += c;
        }
    }
  }
  return result;
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

std::string figure(const nlohmann::json& number) {
  if (number.is_null()) return kNothing;
  DPREDUCE_ASSERT(number.is_number());
  if (number.is_number_integer()) return data(number, json_text(number));
  return data(number, fmt::format("{:.3g}", number.get<double>()));
}

std::string at_most(const nlohmann::json& number) {
  return number.is_number_float() ? data(number, upper_figure(number.get<double>())) : figure(number);
}

std::string at_least(const nlohmann::json& number) {
  return number.is_number_float() ? data(number, lower_figure(number.get<double>())) : figure(number);
}

std::string percent(const nlohmann::json& share) {
  if (share.is_null()) return kNothing;
  DPREDUCE_ASSERT(share.is_number());
  return data(share, fmt::format("{:.1f} %", 100.0 * share.get<double>()));
}

std::string name(std::string_view text) {
  return "<bdi>" + escaped(text) + "</bdi>";
}

std::string paragraph(std::string_view text) {
  return "<p>" + escaped(text) + "</p>\n";
}

std::string folded(std::string_view summary, const std::string& body) {
  return body.empty() ? "" : fmt::format("<details>\n<summary>{}</summary>\n{}</details>\n", escaped(summary), body);
}

std::string facts_html(const std::vector<std::pair<std::string, std::string>>& facts) {
  if (facts.empty()) return {};
  std::string html = "<dl class=\"facts\">\n";
  for (const auto& [term, value] : facts) html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", term, value);
  return html + "</dl>\n";
}

Table::Table(std::string_view caption, const std::vector<std::string>& columns)
    : caption_(escaped(caption)), columns_(columns), is_number_(columns.size(), true) {}

void Table::add(const std::vector<std::string>& cells) {
  DPREDUCE_ASSERT(cells.size() == columns_.size());
  ++rows_;
  body_ += "<tr><th scope=\"row\">" + cells.front() + "</th>";
  for (std::size_t column = 1; column < cells.size(); ++column) {
    const bool is_number = cells[column].starts_with("<data") || cells[column] == kNothing;
    is_number_[column] = is_number_[column] && is_number;
    body_ += (is_number ? "<td class=\"number\">" : "<td>") + cells[column] + "</td>";
  }
  body_ += "</tr>\n";
}

std::string Table::html() const {
  if (is_empty()) return {};
  std::string heads;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const bool is_number = column > 0 && is_number_[column];
    heads +=
        fmt::format("<th scope=\"col\"{}>{}</th>", is_number ? " class=\"number\"" : "", escaped(columns_[column]));
  }
  return fmt::format(
      "<div class=\"scroll\" role=\"region\" aria-label=\"{0}\" tabindex=\"0\">\n<table>\n<caption>{0}</caption>\n"
      "<thead><tr>{1}</tr></thead>\n<tbody>\n{2}</tbody>\n</table>\n</div>\n",
      caption_, heads, body_);
}

std::string chart_html(const Chart& chart) {
  nlohmann::json spec = chart.spec;
  spec["label"] = chart.title + ". " + chart.caption;
  return fmt::format(
      "<figure data-chart=\"{}\">\n<figcaption><strong>{}.</strong> {}</figcaption>\n<div class=\"plot\" "
      "hidden></div>\n"
      "<script type=\"application/json\">{}</script>\n<details open>\n<summary>Values: {}</summary>\n{}</details>\n"
      "</figure>\n",
      escaped(spec["chart"].get<std::string>()), escaped(chart.title), escaped(chart.caption), embedded(spec),
      escaped(chart.title), chart.values.html());
}

}  // namespace dpreduce
