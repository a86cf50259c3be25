#include "report/told_figures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "common/base/class_names.hpp"

namespace dpreduce {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

struct Kind {
  const char* member;
  const char* name;
  bool is_share = true;
  double least = 0.0;
  double most = 1.0;
};

constexpr Kind kAlone[] = {{"accuracy", "accuracy"},
                           {"accuracy_b", "accuracy of second"},
                           {"difference", "second less first", false, -1.0},
                           {"largest_gap", "largest gap of groups", false},
                           {"balanced_accuracy", "balanced accuracy"},
                           {"top_k", "top k"},
                           {"auc", "AUC"},
                           {"micro_f1", "micro F1"},
                           {"log_loss", "log loss", false},
                           {"calibration_error", "calibration error", false},
                           {"brier", "Brier score", false, 0.0, 2.0},
                           {"r2", "R^2", false, -kLargest},
                           {"rmse", "RMSE", false, 0.0, kLargest}};
constexpr Kind kOfEach[] = {{"by_group", "accuracy"}, {"recall", "recall"}, {"precision", "precision"}, {"f1", "F1"}};

ToldFigure figure_of(const JsonFields& figure, std::string name, double least, double most) {
  ToldFigure told{.name = std::move(name),
                  .value = std::nullopt,
                  .low = figure.with("low").number_within("low", least, most),
                  .high = figure.with("high").number_within("high", least, most),
                  .noise = figure.with("noise").number_within("noise", 0.0, kLargest),
                  .least = least,
                  .most = most};
  if (figure.has("value")) told.value = figure.number_within("value", least, most);
  return told;
}

ToldFigure figure_alone(const JsonFields& metrics, const Kind& kind) {
  const JsonFields figure = metrics.object(kind.member);
  double most = kind.most;
  if (figure.has("largest")) most = figure.number_within("largest", 0.0, kLargest);
  ToldFigure told = figure_of(figure, kind.name, kind.least, most);
  told.is_share = kind.is_share;
  if (told.least == -kLargest) told.least = std::floor(std::min(told.low, 0.0));
  if (told.most == kLargest) told.most = told.high > 0.0 ? told.high : 1.0;
  return told;
}

}  // namespace

std::optional<JsonFields> told_part_of(const JsonFields& report) {
  if (report.has("metrics")) return report;
  const JsonFields test = report.object("test");
  return test.has("metrics") ? std::optional(test) : std::nullopt;
}

std::optional<ToldFigures> told_figures(const JsonFields& report) {
  const std::optional<JsonFields> part = told_part_of(report);
  if (!part) return std::nullopt;
  const JsonFields metrics = part->object("metrics");
  ToldFigures told{report.flag("private"), part->with("level").number_within("level", 0.0, 1.0), {{"", {}}}};
  for (const Kind& kind : kAlone) {
    if (metrics.has(kind.member)) told.lists.front().figures.push_back(figure_alone(metrics, kind));
  }
  for (const Kind& kind : kOfEach) {
    if (!metrics.has(kind.member)) continue;
    const bool is_of_groups = std::string(kind.member) == "by_group";
    const std::vector<std::string> names = report.texts(is_of_groups ? "group_names" : "class_names");
    ToldList list{is_of_groups ? "accuracy by group" : kind.name, {}};
    for (const JsonFields& figure : metrics.objects(kind.member)) {
      const std::string of = name_of_class(names, figure.count(is_of_groups ? "group" : "class", 0));
      list.figures.push_back(figure_of(figure, fmt::format("{} of {}", kind.name, of), 0.0, 1.0));
    }
    told.lists.push_back(std::move(list));
  }
  return told;
}

std::string text_of(const ToldFigure& figure) {
  if (!figure.value) return "too little data for this budget";
  return fmt::format("{:.3f}, from {:.3f} to {:.3f}, noise {:.2g}", *figure.value, figure.low, figure.high,
                     figure.noise);
}

std::vector<std::pair<std::string, std::string>> told_lines(const ToldFigures& told) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const ToldList& list : told.lists) {
    if (list.figures.size() > kMostToldByOne) {
      lines.emplace_back(list.kind, fmt::format("{} figures, in the JSON report", list.figures.size()));
      continue;
    }
    for (const ToldFigure& figure : list.figures) lines.emplace_back(figure.name, text_of(figure));
  }
  return lines;
}

}  // namespace dpreduce
