// Several reported runs side by side: a table of all, and their accuracies over epsilon.
#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "report/page/html.hpp"
#include "report/page/sections.hpp"

namespace dpreduce {
namespace {

// Null where the report has none. `is_public`: nor where it has an exact one.
const nlohmann::json& accuracy_of(const ReportedRun& run, bool is_public) {
  static const nlohmann::json none;
  if (is_public && !(run.figures && run.figures->is_private)) return none;
  if (run.figures) {
    const JsonFields report(run.content, "");
    return told_part_of(report)->object("metrics").object("accuracy").number("value");
  }
  const auto test = run.content.find("test");
  if (test == run.content.end() || !test->is_object() || !test->contains("accuracy")) return none;
  const nlohmann::json& accuracy = (*test)["accuracy"];
  return accuracy.is_number() ? accuracy : none;
}

std::string side_by_side(std::span<const PageDocument* const> runs, bool tells_accuracy, bool is_public) {
  std::vector<std::string> columns{"report", "method", "epsilon"};
  if (tells_accuracy) columns.emplace_back("accuracy");
  columns.insert(columns.end(), {"delta", "mu", "neighbors"});
  Table table("The reports of this page", columns);
  for (const PageDocument* document : runs) {
    const ReportedRun& run = *document->run;
    const auto& promise = run.guarantee;
    std::vector<std::string> cells{name(document->name), name(run.method_text()),
                                   promise ? at_most(promise->epsilon) : "not private"};
    if (tells_accuracy) cells.push_back(percent(accuracy_of(run, is_public)));
    cells.push_back(at_most(promise ? nlohmann::json(promise->delta) : nlohmann::json()));
    cells.push_back(at_most(promise && promise->mu ? nlohmann::json(*promise->mu) : nlohmann::json()));
    cells.push_back(promise ? escaped(to_string(promise->adjacency)) : "–");
    table.add(cells);
  }
  return table.html();
}

// Runs by their epsilons, a column for each method.
std::string accuracy_chart(std::span<const PageDocument* const> runs, bool is_public) {
  std::vector<std::string> columns{"epsilon"};
  std::vector<std::tuple<double, std::size_t, nlohmann::json>> points;  // epsilon, column, accuracy
  for (const PageDocument* document : runs) {
    const ReportedRun& run = *document->run;
    if (!run.guarantee || !(run.guarantee->epsilon > 0.0) || accuracy_of(run, is_public).is_null()) continue;
    auto column = std::find(columns.begin() + 1, columns.end(), run.method_text());
    if (column == columns.end()) column = columns.insert(column, run.method_text());
    points.emplace_back(run.guarantee->epsilon, column - columns.begin(), accuracy_of(run, is_public));
  }
  if (points.size() < 2) return {};
  std::ranges::stable_sort(points, {}, [](const auto& point) { return std::get<0>(point); });
  Table values("Accuracy by epsilon", columns);
  for (const auto& [epsilon, column, accuracy] : points) {
    std::vector<std::string> cells(columns.size(), "–");
    cells[0] = at_most(epsilon);
    cells[column] = percent(accuracy);
    values.add(cells);
  }
  nlohmann::json series = nlohmann::json::array();
  for (std::size_t column = 1; column < columns.size(); ++column) {
    series.push_back({{"name", columns[column]}, {"column", column}, {"draw", "line"}});
  }
  return chart_html({.title = "Accuracy against epsilon",
                     .caption = "Each mark is a report. Compare those that have the same test rows.",
                     .spec = {{"chart", "lines"},
                              {"x", {{"label", "epsilon, logarithmic"}, {"scale", "log"}}},
                              {"y", {{"label", "accuracy on test rows"}, {"scale", "linear"}, {"unit", "share"}}},
                              {"series", series}},
                     .values = std::move(values)});
}

}  // namespace

std::vector<Section> comparison_sections(std::span<const PageDocument> documents, Audience audience) {
  std::vector<const PageDocument*> runs;
  for (const PageDocument& document : documents) {
    if (document.run) runs.push_back(&document);
  }
  if (runs.size() < 2) return {};
  const bool is_public = audience == Audience::kPublic;
  const auto has_accuracy = [](bool of_public) {
    return [of_public](const auto* one) { return !accuracy_of(*one->run, of_public).is_null(); };
  };
  const bool tells_accuracy = std::ranges::any_of(runs, has_accuracy(is_public));
  if (!tells_accuracy) return {{"Side by side", side_by_side(runs, false, is_public)}};
  const bool are_private =
      std::ranges::count_if(runs, has_accuracy(true)) == std::ranges::count_if(runs, has_accuracy(false));
  return {{"Side by side", side_by_side(runs, true, is_public) + accuracy_chart(runs, is_public),
           is_public || are_private ? "" : "accuracies are exact figures about test rows, outside the guarantee"}};
}

}  // namespace dpreduce
