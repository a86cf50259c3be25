#include "report/reported_metrics.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "common/base/json_text.hpp"
#include "common/base/public_names.hpp"
#include "common/base/text.hpp"
#include "common/ledger/evaluation_terms.hpp"

namespace dpreduce {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

// A kind of figure, by its member of a report.
struct FigureKind {
  const char* member;
  const char* name;
  Written written = Written::kShare;
  double least = 0.0;
  double most = 1.0;
  const char* of = "class";  // of kinds with many figures: a member of each
};

constexpr FigureKind kAlone[] = {{"accuracy", "accuracy"},
                                 {"accuracy_b", "accuracy of second"},
                                 {"difference", "second less first", Written::kDifference, -1.0},
                                 {"largest_gap", "largest gap of groups"},
                                 {"balanced_accuracy", "balanced accuracy"},
                                 {"minority_accuracy", "minority accuracy"},
                                 {"top_k", "top k"},
                                 {"auc", "AUC"},
                                 {"best_f1", "best F1"},
                                 {"mean_average_precision", "mean average precision"},
                                 {"hit_rate", "hit rate"},
                                 {"precision_at_k", "precision at k"},
                                 {"recall_at_k", "recall at k"},
                                 {"micro_f1", "micro F1"},
                                 {"macro_f1", "macro F1"},
                                 {"log_loss", "log loss", Written::kScore},
                                 {"calibration_error", "calibration error"},
                                 {"brier", "Brier score", Written::kScore, 0.0, 2.0},
                                 {"r2", "R^2", Written::kScore, kLeastR2},
                                 {"rmse", "RMSE", Written::kFigure, 0.0, kLargest}};

// Kinds of which there is one figure with noise for each class, group or target; names of them are in "class_names" of
// the report.
constexpr FigureKind kOfEach[] = {{"by_group", "accuracy", Written::kShare, 0.0, 1.0, "group"},
                                  {"recall", "recall"},
                                  {"precision", "precision"},
                                  {"f1", "F1"},
                                  {"r2_by_target", "R^2", Written::kScore, kLeastR2, 1.0, "target"},
                                  {"rmse_by_target", "RMSE", Written::kFigure, 0.0, kLargest, "target"}};

// Exact ones of each class.
constexpr FigureKind kOfClass[] = {{"per_class", "recall"},
                                   {"per_class_average_precision", "average precision"},
                                   {"per_class_precision", "precision"},
                                   {"per_class_f1", "F1"},
                                   {"per_class_support", "test rows", Written::kFigure}};

ReportedMetric figure_of(const JsonFields& figure, const FigureKind& kind, std::string name) {
  const double most = figure.has("largest") ? figure.number_within("largest", 0.0, kLargest) : kind.most;
  ReportedMetric told{.name = std::move(name),
                      .value = std::nullopt,
                      .low = figure.number_within("low", kind.least, most),
                      .high = figure.number_within("high", kind.least, most),
                      .noise = figure.number_within("noise", 0.0, kLargest),
                      .written = kind.written};
  if (figure.has("value")) told.value = figure.number_within("value", kind.least, most);
  return told;
}

ReportedList list_of(const JsonFields& report, const JsonFields& metrics, const FigureKind& kind) {
  const std::string of = kind.of;
  const std::vector<std::string> names = report.texts(of + "_names");
  ReportedList list{of == "class" ? kind.name : fmt::format("{} by {}", kind.name, of), {}};
  for (const JsonFields& figure : metrics.objects(kind.member)) {
    const std::string which = name_of_class(names, figure.count(of, 0));
    list.figures.push_back(
        figure_of(figure, kind, fmt::format("{} of {}{}", kind.name, of == "target" ? "target " : "", which)));
  }
  return list;
}

constexpr const char* kWeighsClasses = "dpreduce export --class-weights weighs single classes, at no cost";

// "class 1, class 7": the classes that `notes` are on, each with its note; of `count` classes.
std::string classes_text(const JsonFields& report, std::size_t count, const std::map<std::size_t, std::string>& notes) {
  constexpr std::size_t kMostNamed = 5;
  const std::vector<std::string> names = report.texts("class_names");
  std::vector<std::string> found;
  for (const auto& [k, note] : notes) {
    found.push_back((names.size() == count ? in_quotes(names[k]) : fmt::format("class {}", k)) + note);
  }
  const std::size_t more = found.size() - std::min(found.size(), kMostNamed);
  found.resize(found.size() - more);
  return fmt::format("{}{}", fmt::join(found, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

std::optional<JsonFields> reported_part_of(const JsonFields& report) {
  if (report.has("metrics")) return report;
  const JsonFields test = report.object("test");
  return test.has("metrics") ? std::optional(test) : std::nullopt;
}

std::vector<std::string> compared_models(const JsonFields& report) {
  const std::vector<std::string> names = report.texts("model_names");
  return names.size() == 2 && names.front() != names.back() ? names : std::vector<std::string>{"first", "second"};
}

std::optional<ReportedMetrics> reported_metrics(const JsonFields& report) {
  const std::optional<JsonFields> part = reported_part_of(report);
  if (!part) return std::nullopt;
  const JsonFields metrics = part->object("metrics");
  ReportedMetrics told{report.flag("private"), part->number_within("level", 0.0, 1.0), {{"", {}}}};
  const std::vector<std::string> pair = compared_models(report);
  for (const FigureKind& kind : kAlone) {
    if (!metrics.has(kind.member)) continue;
    std::string name = kind.name;
    if (name == "accuracy" && metrics.has("accuracy_b")) name += " of " + pair.front();
    if (name == "accuracy of second") name = "accuracy of " + pair.back();
    if (name == "second less first") name = fmt::format("{} less {}", pair.back(), pair.front());
    const JsonFields figure = metrics.object(kind.member);
    if (figure.has("k")) name = fmt::format("top {}", figure.count("k", 0));
    if (figure.has("weight")) {
      name += fmt::format(" (export --class-weights {}={:.3g})",
                          name_of_class(report.texts("class_names"), figure.count("class", 0)),
                          figure.number_within("weight", 0.0, kLargest));
    }
    told.lists.front().figures.push_back(figure_of(figure, kind, std::move(name)));
  }
  for (const FigureKind& kind : kOfEach) {
    if (metrics.has(kind.member)) told.lists.push_back(list_of(report, metrics, kind));
  }
  return told;
}

std::string text_of(const ReportedMetric& figure) {
  if (!figure.value) return "too little data for this budget";
  const auto written = [&](double number) { return text_of(Cell(number, figure.written)); };
  return fmt::format("{}, from {} to {}, noise {}", written(*figure.value), written(figure.low), written(figure.high),
                     text_of(at_most(figure.noise)));
}

Facts facts_of(const ReportedMetrics& told) {
  Facts facts;
  for (const ReportedList& list : told.lists) {
    if (list.figures.size() > kMostReportedByOne) {
      facts.push_back({list.kind, fmt::format("{} figures, in the JSON report", list.figures.size())});
      continue;
    }
    for (const ReportedMetric& figure : list.figures) facts.push_back({figure.name, text_of(figure)});
  }
  return facts;
}

std::string interval_sentence(const ReportedMetrics& told) {
  return fmt::format(
      "each interval by itself covers the true value for rows like these with probability {:g}; it accounts for the "
      "noise and for sampling of the rows",
      told.level);
}

Table table_of(const ReportedList& list) {
  const bool is_of_one_kind = !list.kind.empty();
  std::string kind = is_of_one_kind ? list.kind : "Figures";
  kind.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(kind.front())));
  Table table{.caption = kind + ", each with its interval",
              .columns = {is_of_one_kind ? "of" : "figure", "value", "from", "to", "noise"},
              .summary = list.figures.size() > kMostReportedByOne ? "All figures of " + list.kind : "",
              .intervals = is_of_one_kind ? "of one kind" : "of several kinds"};
  for (const ReportedMetric& told : list.figures) {
    const bool is_share = told.written == Written::kShare || told.written == Written::kDifference;
    const Cell value = told.value ? Cell(*told.value, told.written) : Cell("too little data");
    // The caption of a list of one kind names the kind, so "recall of cat" is "cat" there.
    table.add({is_of_one_kind ? told.name.substr(told.name.find(" of ") + 4) : told.name, value,
               Cell(told.low, told.written), Cell(told.high, told.written),
               Cell(told.noise, is_share ? Written::kShareAtMost : Written::kAtMost)});
  }
  return table;
}

Facts exact_figures(const JsonFields& test) {
  std::vector<Column> columns;
  for (const FigureKind& kind : kAlone) {
    std::string name = kind.name;
    if (name == "top k") continue;  // the k of those below
    if (name.ends_with(" at k") && test.has("top_k")) name.replace(name.size() - 1, 1, json_text(test.number("top_k")));
    columns.push_back({kind.member, std::move(name), kind.written});
  }
  Facts facts = facts_of(test, columns);
  if (const auto r2 = test.json().find("r2"); r2 != test.json().end() && r2->is_null()) {
    facts.insert(facts.begin(), {"R^2", "none, since a target is the same in all test rows"});
  }
  return facts;
}

std::string rare_classes_text(const JsonFields& report) {
  if (!report.has("class_shares") || report.has("max_labels")) return "";
  constexpr double kRare = 0.05;  // of an equal share
  constexpr double kPercent = 100.0;
  const std::vector<nlohmann::json> shares = report.object("class_shares").numbers("shares");
  const double noise = report.object("class_shares").number_within("noise", 0.0, kLargest);
  std::map<std::size_t, std::string> notes;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    const double share = shares[k].is_number() ? shares[k].get<double>() : kLargest;
    if (share + 2.0 * noise >= kRare / static_cast<double>(shares.size())) continue;
    notes[k] = fmt::format(" ({:.2g} % of rows)", kPercent * share);
  }
  const std::string rare = classes_text(report, shares.size(), notes);
  if (rare.empty()) return "";
  return fmt::format(
      "rare: {}, noise {:.2g} %: a fit for accuracy predicts these classes for almost no row, {} for many other rows; "
      "{}",
      rare, kPercent * noise, report.text("objective") == "balanced" ? "this balanced one" : "--objective balanced",
      kWeighsClasses);
}

std::string uncalled_classes_text(const JsonFields& report) {
  const JsonFields test = report.object("test");
  const std::vector<nlohmann::json> precision = test.numbers("per_class_precision");
  const std::vector<nlohmann::json> support = test.numbers("per_class_support");
  if (precision.size() != support.size()) return "";
  std::map<std::size_t, std::string> notes;
  for (std::size_t k = 0; k < precision.size(); ++k) {
    if (precision[k].is_null() && support[k].is_number() && support[k].get<double>() > 0.0) notes.emplace(k, "");
  }
  const std::string uncalled = classes_text(report, precision.size(), notes);
  if (uncalled.empty()) return "";
  return fmt::format("no test row is predicted as {}: try --objective balanced; {}", uncalled, kWeighsClasses);
}

std::vector<std::pair<std::string, nlohmann::json>> numbers_alone(const JsonFields& report) {
  const std::optional<JsonFields> told = reported_part_of(report);
  const JsonFields figures = told ? told->object("metrics") : report.object("test");
  std::vector<std::pair<std::string, nlohmann::json>> numbers;
  for (const FigureKind& kind : kAlone) {
    if (!figures.has(kind.member)) continue;
    const nlohmann::json& number = told ? figures.object(kind.member).number("value") : figures.number(kind.member);
    if (!number.is_null()) numbers.emplace_back(kind.member, number);
  }
  return numbers;
}

Table class_figures(const JsonFields& test, const std::vector<std::string>& class_names, bool has_counts,
                    std::size_t most) {
  Table table{.caption = "Figures of each class", .columns = {"class"}};
  std::vector<std::vector<Cell>> lists;
  std::vector<std::size_t> classes;
  for (const FigureKind& kind : kOfClass) {
    if (!test.has(kind.member) || (!has_counts && kind.written == Written::kFigure)) continue;
    table.columns.emplace_back(kind.name);
    lists.emplace_back();
    for (const nlohmann::json& number : test.numbers(kind.member)) lists.back().emplace_back(number, kind.written);
    const std::size_t count = class_names.empty() ? lists.front().size() : class_names.size();
    if (lists.back().size() != count) test.refuse(kind.member, fmt::format("must hold {} figures", count));
    classes.resize(count);
  }
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  if (classes.size() > most) {
    table.caption = fmt::format("The {} of {} classes with the lowest {}", most, classes.size(), table.columns[1]);
    std::ranges::stable_sort(classes, {}, [&](std::size_t c) {
      const nlohmann::json& number = lists.front()[c].number;
      return number.is_number() ? number.get<double>() : kLargest;
    });
    classes.resize(most);
    std::ranges::sort(classes);
  }
  for (const std::size_t c : classes) {
    std::vector<Cell> cells{name_of_class(class_names, c)};
    for (const std::vector<Cell>& list : lists) cells.push_back(list[c]);
    table.add(std::move(cells));
  }
  return table;
}

Table confusion_table(const JsonFields& owner, const std::string& member, const std::vector<std::string>& names,
                      bool are_exact) {
  const nlohmann::json& rows = owner.json().at(member);
  const auto is_count = [&](const nlohmann::json& count) {
    return are_exact ? count.is_number_integer() && count >= 0 : count.is_number();
  };
  bool is_square = rows.is_array() && rows.size() == names.size();
  for (const nlohmann::json& row : rows) {
    is_square = is_square && row.is_array() && row.size() == names.size() && std::ranges::all_of(row, is_count);
  }
  if (!is_square) owner.refuse(member, fmt::format("must be {0} x {0} counts", names.size()));
  Table table{.caption = "Test rows of each true class, by predicted class", .columns = {"true class"}};
  for (const std::string& predicted : names) table.columns.push_back("as " + predicted);
  for (std::size_t label = 0; label < names.size(); ++label) {
    std::vector<Cell> cells{names[label]};
    for (const nlohmann::json& count : rows[label]) {
      cells.push_back(figure(std::max<std::int64_t>(0, std::llround(count.get<double>()))));
    }
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace dpreduce
