#include "report/told_figures.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "common/base/public_names.hpp"
#include "common/plan/evaluation_terms.hpp"

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

// Kinds of which there is one figure for each class, group or target.
struct KindOfEach {
  Kind kind;
  const char* of = "class";  // a member of each figure; names of them are in "class_names" of the report
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
                           {"r2", "R^2", false, kLeastR2},
                           {"rmse", "RMSE", false, 0.0, kLargest}};
constexpr KindOfEach kOfEach[] = {{{"by_group", "accuracy"}, "group"},
                                  {{"recall", "recall"}},
                                  {{"precision", "precision"}},
                                  {{"f1", "F1"}},
                                  {{"r2_by_target", "R^2", false, kLeastR2}, "target"},
                                  {{"rmse_by_target", "RMSE", false, 0.0, kLargest}, "target"}};

ToldFigure figure_of(const JsonFields& figure, const Kind& kind, std::string name) {
  const double most = figure.has("largest") ? figure.number_within("largest", 0.0, kLargest) : kind.most;
  ToldFigure told{.name = std::move(name),
                  .value = std::nullopt,
                  .low = figure.with("low").number_within("low", kind.least, most),
                  .high = figure.with("high").number_within("high", kind.least, most),
                  .noise = figure.with("noise").number_within("noise", 0.0, kLargest),
                  .least = kind.least,
                  .most = most,
                  .is_share = kind.is_share,
                  .has_unit = kind.most == kLargest};
  if (figure.has("value")) told.value = figure.number_within("value", kind.least, most);
  if (told.has_unit) told.most = told.high > 0.0 ? told.high : 1.0;
  return told;
}

ToldList list_of(const JsonFields& report, const JsonFields& metrics, const KindOfEach& each) {
  const std::string of = each.of;
  const std::vector<std::string> names = report.texts(of + "_names");
  ToldList list{of == "class" ? each.kind.name : fmt::format("{} by {}", each.kind.name, of), {}};
  for (const JsonFields& figure : metrics.objects(each.kind.member)) {
    const std::string which = name_of_class(names, figure.count(of, 0));
    list.figures.push_back(figure_of(
        figure, each.kind, fmt::format("{} of {}{}", each.kind.name, of == "target" ? "target " : "", which)));
  }
  return list;
}

std::string number_text(const ToldFigure& figure, double number) {
  return figure.has_unit ? fmt::format("{:.6g}", number) : fmt::format("{:.3f}", number);
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
    if (!metrics.has(kind.member)) continue;
    told.lists.front().figures.push_back(figure_of(metrics.object(kind.member), kind, kind.name));
  }
  for (const KindOfEach& each : kOfEach) {
    if (metrics.has(each.kind.member)) told.lists.push_back(list_of(report, metrics, each));
  }
  return told;
}

std::vector<std::string> words_of(const ToldFigure& figure) {
  return {figure.value ? number_text(figure, *figure.value) : "too little data", number_text(figure, figure.low),
          number_text(figure, figure.high), fmt::format("{:.2g}", figure.noise)};
}

std::string text_of(const ToldFigure& figure) {
  if (!figure.value) return "too little data for this budget";
  const std::vector<std::string> words = words_of(figure);
  return fmt::format("{}, from {} to {}, noise {}", words[0], words[1], words[2], words[3]);
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
