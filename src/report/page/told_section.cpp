// Figures about test rows that have noise: each with its interval, drawn; and tables of them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "common/base/public_names.hpp"
#include "report/page/html.hpp"
#include "report/page/sections.hpp"

namespace dpreduce {
namespace {

// What intervals are drawn on: of shares one scale that holds them all.
struct Scale {
  double least = 0.0;
  double most = 1.0;
};

std::optional<Scale> scale_of_shares(const ToldList& list) {
  Scale scale{1.0, 0.0};
  for (const ToldFigure& told : list.figures) {
    if (!told.is_share) continue;
    scale = {std::min(scale.least, std::floor(told.low * 20.0) / 20.0),
             std::max(scale.most, std::ceil(told.high * 20.0) / 20.0)};
  }
  return scale.least < scale.most ? std::optional(scale) : std::nullopt;
}

// The interval as a bar, its value as a mark on it.
std::string interval_svg(const ToldFigure& told, const Scale& scale) {
  const auto place = [&](double value) { return 100.0 * (value - scale.least) / (scale.most - scale.least); };
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

std::string figures_table(const ToldList& list) {
  const std::optional<Scale> shares = scale_of_shares(list);
  Table table(
      list.kind.empty() ? "Figures, each with its interval" : list.kind + ", each with its interval",
      {"figure", "value", "from", "to",
       shares ? fmt::format("drawn, {:g} % to {:g} %", 100 * shares->least, 100 * shares->most) : "drawn", "noise"});
  for (const ToldFigure& told : list.figures) {
    const auto shown = [&](double value) { return told.is_share ? percent(value) : figure(value); };
    table.add({name(told.name), told.value ? shown(*told.value) : "too little data", shown(told.low), shown(told.high),
               interval_svg(told, told.is_share && shares ? *shares : Scale{told.least, told.most}),
               figure(told.noise)});
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

std::string noised_confusion(const JsonFields& metrics, const std::vector<std::string>& class_names) {
  if (!metrics.has("confusion")) return {};
  const JsonFields confusion = metrics.object("confusion");
  const std::size_t columns = confusion.with("counts").json()["counts"].size();
  std::vector<std::string> names;
  for (std::size_t k = 0; k < columns; ++k) {
    names.push_back(confusion.has("class_groups") ? fmt::format("group {}", k) : name_of_class(class_names, k));
  }
  return confusion_chart(
      confusion, "counts", names,
      fmt::format(" Each number has noise of standard deviation {:.3g}; its interval is in the report.",
                  confusion.number_within("noise", 0.0, std::numeric_limits<double>::max())));
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
  body += calibration_chart(metrics) + roc_chart(metrics) + noised_confusion(metrics, report.texts("class_names"));
  sections.push_back(
      {"How good the model is", body, told->is_private ? "" : "they have noise, and are not private all the same"});
}

}  // namespace dpreduce
