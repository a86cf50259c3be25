// Figures about test rows: exact, and outside the guarantee.
#include <fmt/format.h>

#include "common/base/class_names.hpp"
#include "report/page/html.hpp"
#include "report/page/sections.hpp"

namespace dpreduce {
namespace {

// How a page calls the classes of a report: by `class_names` where it has them, else by number.
class ClassNames {
 public:
  explicit ClassNames(const JsonFields& report)
      : count_(report.count("classes", 0)), names_(report.texts("class_names")) {
    if (!names_.empty() && names_.size() != count_)
      report.refuse("class_names", "must be as many as there are classes");
  }
  std::size_t count() const { return count_; }
  std::string of(std::size_t label) const { return name_of_class(names_, label); }

 private:
  std::size_t count_;
  std::vector<std::string> names_;
};

constexpr std::size_t kMostDrawn = 64;  // classes of a confusion matrix

struct ClassFigure {
  const char* member;
  const char* heading;
};

// A column of each list that is there; of sets of labels other ones than of a class a row.
std::string by_class_table(const JsonFields& test, const ClassNames& names) {
  constexpr ClassFigure kFigures[] = {{"per_class", "recall"},
                                      {"per_class_average_precision", "average precision"},
                                      {"per_class_precision", "precision"},
                                      {"per_class_f1", "F1"},
                                      {"per_class_support", "test rows"}};
  std::vector<std::string> columns{"class"};
  std::vector<std::vector<nlohmann::json>> lists;
  for (const auto& [member, heading] : kFigures) {
    if (!test.has(member)) continue;
    columns.emplace_back(heading);
    lists.push_back(test.numbers(member));
    if (lists.back().size() != names.count()) test.refuse(member, fmt::format("must hold {} figures", names.count()));
  }
  Table table("Figures of each class", columns);
  for (std::size_t label = 0; label < names.count(); ++label) {
    std::vector<std::string> cells{name(names.of(label))};
    for (std::size_t list = 0; list < lists.size(); ++list) {
      const bool is_count = columns[list + 1] == "test rows";
      cells.push_back(is_count ? figure(lists[list][label]) : percent(lists[list][label]));
    }
    table.add(cells);
  }
  return table.html();
}

std::string recall_chart(const JsonFields& test, const ClassNames& names) {
  const std::string member = test.has("per_class") ? "per_class" : "per_class_average_precision";
  const std::string what = member == "per_class" ? "recall" : "average precision";
  const std::vector<nlohmann::json> figures = test.numbers(member);
  if (figures.empty()) return {};
  if (figures.size() != names.count()) test.refuse(member, fmt::format("must hold {} figures", names.count()));
  Table values("The " + what + " of each class", {"class", what});
  for (std::size_t label = 0; label < figures.size(); ++label) {
    values.add({name(names.of(label)), percent(figures[label])});
  }
  return chart_html(
      {.title = member == "per_class" ? "Recall of each class" : "Average precision of each class",
       .caption = member == "per_class" ? "Of the test rows of a class, the share that the model gives that class."
                                        : "How far the rows of a class stand ahead of the others by their score.",
       .spec = {{"chart", "columns"}, {"x", {{"label", "class"}}}, {"y", {{"label", what}}}, {"column", 1}},
       .values = std::move(values)});
}

std::string confusion_chart(const JsonFields& test, const ClassNames& names) {
  if (!test.has("confusion_matrix")) return {};
  const nlohmann::json& rows = test.json().at("confusion_matrix");
  const auto is_count = [](const nlohmann::json& count) { return count.is_number_integer() && count >= 0; };
  bool is_square = rows.is_array() && rows.size() == names.count();
  for (const nlohmann::json& row : rows) {
    is_square =
        is_square && row.is_array() && row.size() == names.count() && std::all_of(row.begin(), row.end(), is_count);
  }
  if (!is_square) test.refuse("confusion_matrix", fmt::format("must be {0} x {0} counts", names.count()));
  std::vector<std::string> columns{"true class"};
  for (std::size_t label = 0; label < names.count(); ++label) {
    columns.push_back("as " + names.of(label));
  }
  Table values("Test rows of each true class, by predicted class", columns);
  for (std::size_t label = 0; label < names.count(); ++label) {
    std::vector<std::string> cells{name(names.of(label))};
    for (const nlohmann::json& count : rows[label]) cells.push_back(figure(count));
    values.add(cells);
  }
  if (names.count() > kMostDrawn) return values.html();
  return chart_html(
      {.title = "Confusion",
       .caption = "Rows of each true class, by predicted class. The larger its share of its row, the stronger the "
                  "color of a cell.",
       .spec = {{"chart", "matrix"}, {"x", {{"label", "predicted class"}}}, {"y", {{"label", "true class"}}}},
       .values = std::move(values)});
}

std::string summary(const JsonFields& test) {
  std::string facts;
  for (const auto& [member, heading] : {std::pair{"accuracy", "accuracy"},
                                        {"balanced_accuracy", "balanced accuracy"},
                                        {"minority_accuracy", "minority accuracy"},
                                        {"mean_average_precision", "mean average precision"},
                                        {"hit_rate", "hit rate"},
                                        {"micro_f1", "micro F1"},
                                        {"macro_f1", "macro F1"}}) {
    if (test.has(member))
      facts += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", heading, percent(test.number(member)));
  }
  if (test.has("rows")) facts += fmt::format("<div><dt>test rows</dt><dd>{}</dd></div>\n", figure(test.number("rows")));
  return facts.empty() ? "" : "<dl class=\"facts\">\n" + facts + "</dl>\n";
}

}  // namespace

void add_test_figures(std::vector<Section>& sections, const JsonFields& report) {
  if (!report.has("test")) return;
  const JsonFields test = report.object("test");
  const ClassNames names(report);
  sections.push_back({"How well the model does",
                      summary(test) + recall_chart(test, names) + confusion_chart(test, names) +
                          "<details>\n<summary>All figures of each class</summary>\n" + by_class_table(test, names) +
                          "</details>\n",
                      fmt::format("these are exact figures about {} rows, outside the guarantee",
                                  test.flag("rows_are_training_rows") ? "training" : "the test")});
}

}  // namespace dpreduce
