// Figures about test rows that have noise: each with its interval, drawn; and tables of them.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "common/base/class_names.hpp"
#include "report/page/html.hpp"
#include "report/page/sections.hpp"

namespace dpreduce {
namespace {

// The interval as a line, its value as a mark on it, over all that the figure may be.
std::string interval_svg(const ToldFigure& told) {
  const auto place = [&](double value) { return 100.0 * (value - told.least) / (told.most - told.least); };
  const std::string mark = told.value
                               ? fmt::format("<rect class=\"mark\" x=\"{:.2f}\" y=\"2\" width=\"1\" height=\"8\"/>",
                                             std::clamp(place(*told.value) - 0.5, 0.0, 99.0))
                               : "";
  return fmt::format(
      "<svg class=\"interval\" viewBox=\"0 0 100 12\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
      "class=\"all\" width=\"100\" y=\"5.5\" height=\"1\"/><rect class=\"held\" x=\"{:.2f}\" y=\"4\" width=\"{:.2f}\" "
      "height=\"4\"/>{}</svg>",
      place(told.low), std::max(place(told.high) - place(told.low), 0.5), mark);
}

// A share as per cent; what may be below 0 or above 1 as a number.
std::string figure_html(const ToldFigure& told, double value) {
  return told.least == 0.0 && told.most == 1.0 ? percent(value) : figure(value);
}

std::string figures_table(const ToldList& list) {
  Table table(list.kind.empty() ? "Figures, each with its interval" : list.kind + ", each with its interval",
              {"figure", "value", "from", "to", "interval", "noise"});
  for (const ToldFigure& told : list.figures) {
    table.add({name(told.name), told.value ? figure_html(told, *told.value) : "too little data",
               figure_html(told, told.low), figure_html(told, told.high), interval_svg(told), figure(told.noise)});
  }
  return table.html();
}

// A row of a curve: where it is, and what is told there.
struct Point {
  double at;
  JsonFields figure;
};

std::string curve_chart(const std::string& title, const std::string& caption, const std::string& x,
                        const std::string& y, const std::vector<Point>& points) {
  Table values(title, {x, y, "from", "to"});
  for (const Point& point : points) {
    values.add({figure(point.at), percent(point.figure.number("value")), percent(point.figure.number("low")),
                percent(point.figure.number("high"))});
  }
  if (values.is_empty()) return {};
  nlohmann::json series = nlohmann::json::array();
  for (const auto& [name, column] : {std::pair{"as told", 1}, {"lower end", 2}, {"upper end", 3}}) {
    series.push_back({{"name", name}, {"column", column}, {"draw", "line"}});
  }
  return chart_html({.title = title,
                     .caption = caption,
                     .spec = {{"chart", "lines"},
                              {"x", {{"label", x}, {"scale", "linear"}}},
                              {"y", {{"label", y}, {"scale", "linear"}, {"unit", "share"}}},
                              {"series", std::move(series)}},
                     .values = std::move(values)});
}

std::string calibration_chart(const JsonFields& metrics) {
  std::vector<Point> points;
  for (const JsonFields& bin : metrics.objects("calibration")) {
    points.push_back({0.5 * (bin.number_within("from", 0.0, 1.0) + bin.number_within("to", 0.0, 1.0)), bin});
  }
  return curve_chart(
      "Calibration",
      "Rows that get their class, by what the model says of it. Of a calibrated model both are the same.",
      "largest probability, middle of its bin", "share of right rows", points);
}

std::string roc_chart(const JsonFields& metrics) {
  std::vector<Point> points;
  for (const JsonFields& point : metrics.object("roc").objects("points")) {
    const JsonFields false_positives = point.object("false_positive_rate");
    if (!false_positives.has("value")) continue;
    points.push_back({false_positives.number_within("value", 0.0, 1.0), point.object("true_positive_rate")});
  }
  std::ranges::stable_sort(points, {}, &Point::at);
  return curve_chart("ROC curve", "Each mark is a threshold of the score. Intervals are those of the found share.",
                     "share of the other classes taken for it", "share of the class found", points);
}

std::string confusion_chart(const JsonFields& metrics, const std::vector<std::string>& class_names) {
  if (!metrics.has("confusion")) return {};
  const JsonFields confusion = metrics.object("confusion");
  const bool is_by_group = confusion.has("class_groups");
  const nlohmann::json& rows = confusion.with("counts").json()["counts"];
  if (!rows.is_array()) confusion.refuse("counts", "must be rows of counts");
  const auto name_of = [&](std::size_t k) {
    return is_by_group ? fmt::format("group {}", k) : name_of_class(class_names, k);
  };
  std::vector<std::string> columns{"true class"};
  for (std::size_t k = 0; k < rows.size(); ++k) columns.push_back("as " + name_of(k));
  const std::string noise = fmt::format("{:.3g}", confusion.number_within("noise", 0.0, 1e300));
  Table values("Noised numbers of rows by true and predicted class", columns);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    std::vector<std::string> cells{name(name_of(k))};
    const bool is_row = rows[k].is_array() && rows[k].size() == rows.size();
    if (!is_row) confusion.refuse("counts", "must have as many columns as rows");
    for (const nlohmann::json& count : rows[k]) {
      if (!count.is_number()) confusion.refuse("counts", "must hold numbers");
      cells.push_back(figure(std::max(0.0, std::round(count.get<double>()))));
    }
    values.add(cells);
  }
  if (rows.size() > kMostDrawn) return values.html();
  return chart_html(
      {.title = "Confusion",
       .caption = "Rows of each true class, by predicted class. Each number has noise of standard deviation " + noise +
                  "; its interval is in the report.",
       .spec = {{"chart", "matrix"}, {"x", {{"label", "predicted class"}}}, {"y", {{"label", "true class"}}}},
       .values = std::move(values)});
}

}  // namespace

void add_told_figures(std::vector<Section>& sections, const PageDocument& document, const JsonFields& report) {
  const std::optional<ToldFigures>& told = document.run->figures;
  if (!told) return;
  const JsonFields metrics = told_part_of(report)->object("metrics");
  std::string body = paragraph(
      fmt::format("Each figure has noise, so that it tells little of any one test row. Its interval holds the truth "
                  "about rows like these with probability {:g}: it knows the noise, and that the rows are a sample.",
                  told->level));
  for (const ToldList& list : told->lists) {
    const std::string table = figures_table(list);
    body += list.figures.size() > kMostToldByOne ? folded("All figures of " + list.kind, table) : table;
  }
  body += calibration_chart(metrics) + roc_chart(metrics) + confusion_chart(metrics, report.texts("class_names"));
  sections.push_back({"How good the model is", body, told->is_private ? "" : "noise with a seed can be computed"});
}

}  // namespace dpreduce
