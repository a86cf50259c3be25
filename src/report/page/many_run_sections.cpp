// Sections on several runs: those of a ledger one after the other, and reported ones side by side.
#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "common/base/number_text.hpp"
#include "common/base/privacy_terms.hpp"
#include "report/page/html.hpp"
#include "report/page/sections.hpp"
#include "report/reported_run.hpp"

namespace dpreduce {

// A ledger: what its runs have spent, one after the other.

namespace {

std::string reasons_of(const JsonFields& run) {
  return words_of(forfeits_in(nlohmann::json(run.texts("forfeited_by"))).value_or(Forfeits{}));
}

std::string method_of(const JsonFields& run) {
  return method_text_of(run.has("asked") ? run.printable_text("asked") : "", run.text("method"));
}

std::string life_chart(const JsonFields& ledger) {
  Table values("Spending, run by run", {"run", "since", "method", "releases", "epsilon of all so far",
                                        "mu of all so far", "rho of all so far"});
  bool has_epsilon = false;
  std::string at_delta;
  for (const JsonFields& run : ledger.objects("runs")) {
    const JsonFields so_far = run.object("so_far");
    has_epsilon = has_epsilon || so_far.has("epsilon");
    if (so_far.has("delta")) at_delta = " at delta " + upper_figure(so_far.number("delta").get<double>());
    values.add({name(run.text("run")), escaped(run.text("since")),
                name(method_of(run) + (run.flag("private") ? "" : fmt::format(" ({}: not private)", reasons_of(run)))),
                figure(run.number("releases")), at_most(so_far.number("epsilon")), at_most(so_far.number("mu")),
                at_most(so_far.number("rho"))});
  }
  if (values.is_empty()) return paragraph("Nothing has been charged so far.");
  if (!has_epsilon) return values.html();
  return chart_html(
      {.title = "Epsilon spent over the ledger's life" + at_delta,
       .caption = "Each step is a run with all that it released, if all runs were about the same records or persons.",
       .spec = {{"chart", "lines"},
                {"x", {{"label", "runs so far"}, {"scale", "count"}}},
                {"y", {{"label", "epsilon of all together" + at_delta}, {"scale", "linear"}}},
                {"series", {{{"name", "spent"}, {"column", 4}, {"draw", "step"}}}},
                {"from", 0.0}},
       .values = std::move(values)});
}

// What all runs have spent together, and what it is told at.
std::string spent_so_far(const JsonFields& ledger) {
  const std::vector<JsonFields> runs = ledger.objects("runs");
  if (runs.empty()) return {};
  const JsonFields so_far = runs.back().object("so_far");
  std::string html = facts_html({{"epsilon", at_most(so_far.number("epsilon"))},
                                 {"delta", at_most(so_far.number("delta"))},
                                 {"mu", at_most(so_far.number("mu"))},
                                 {"neighbors", name(ledger.text("adjacency"))},
                                 {"runs", figure(runs.size())}});
  const std::vector<nlohmann::json> deltas = ledger.numbers("deltas_of_runs");
  if (deltas.size() > 1) {
    html += fmt::format("<p>Runs state {} deltas, from {} to {}. Epsilons are told at {}.</p>\n", deltas.size(),
                        at_most(deltas.front()), at_most(deltas.back()), at_most(so_far.number("delta")));
  }
  return html;
}

std::string releases_of_all(const JsonFields& ledger) {
  Table table("All releases", {"release", "time", "method", "mu", "rho", "sampling rate"});
  for (const JsonFields& release : ledger.objects("releases")) {
    table.add({name(release.text("release")), escaped(release.text("time")), name(method_of(release)),
               at_most(release.number("mu")), at_most(release.number("rho")), figure(release.number("sampling_rate"))});
  }
  return folded("All releases", table.html());
}

std::string open_runs_of(const JsonFields& ledger) {
  Table table("Runs that have not ended, and what they may still charge",
              {"run", "since", "method", "may still charge"});
  for (const JsonFields& run : ledger.objects("open_runs")) {
    std::string remains;
    for (const JsonFields& release : run.objects("releases")) {
      remains += fmt::format("<li>{}: {} × mu {}</li>", name(release.text("name")), figure(release.number("rounds")),
                             at_most(release.number("mu")));
    }
    for (const JsonFields& selection : run.objects("selections")) {
      remains +=
          fmt::format("<li>{}: epsilon {}</li>", name(selection.text("name")), at_most(selection.number("epsilon")));
    }
    table.add({name(run.text("run")), escaped(run.text("since")), name(method_of(run)),
               remains.empty() ? "nothing" : "<ul>" + remains + "</ul>"});
  }
  return table.html();
}

}  // namespace

std::vector<Section> ledger_sections(const PageDocument& document) {
  const JsonFields ledger(document.content, document.name);
  std::vector<Section> sections;
  if (const std::string spent = spent_so_far(ledger); !spent.empty()) {
    sections.push_back({"Spent on these records, all runs together", spent});
  }
  sections.push_back({"The budget over the ledger's life", life_chart(ledger) + releases_of_all(ledger)});
  if (const std::string open = open_runs_of(ledger); !open.empty()) sections.push_back({"Open runs", open});
  return sections;
}

// Several reported runs side by side: a table of all, and their accuracies over epsilon.

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
