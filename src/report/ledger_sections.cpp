// Sections on several runs: those of a ledger one after the other, and reported ones side by side.
#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "common/base/privacy_terms.hpp"
#include "common/base/text.hpp"
#include "report/page_sections.hpp"
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

Block life_block(const std::vector<JsonFields>& runs) {
  Table values{.caption = "Spending, run by run",
               .columns = {"run", "since", "method", "releases", "epsilon of all so far", "mu of all so far",
                           "rho of all so far"}};
  std::size_t with_epsilon = 0;
  std::string at_delta;
  for (const JsonFields& run : runs) {
    const JsonFields so_far = run.object("so_far");
    if (so_far.has("epsilon")) ++with_epsilon;
    if (so_far.has("delta")) at_delta = " at delta " + upper_figure(so_far.number("delta").get<double>());
    values.add({run.text("run"), run.text("since"),
                method_of(run) + (run.flag("private") ? "" : fmt::format(" ({}: not private)", reasons_of(run))),
                figure(run.number("releases")), at_most(so_far.number("epsilon")), at_most(so_far.number("mu")),
                at_most(so_far.number("rho"))});
  }
  if (runs.empty()) return Words{{}, {"Nothing has been charged so far"}};
  if (with_epsilon < 2) return values;
  Chart chart =
      line_chart("Epsilon spent over the ledger's life" + at_delta,
                 "Each step is one run with all its releases, if all runs were about the same records or persons.",
                 {"runs so far", "count"}, {"epsilon of all together" + at_delta}, {"spent"}, std::move(values));
  chart.spec["series"][0].update({{"column", 4}, {"draw", "step"}});
  chart.spec["from"] = 0.0;
  return chart;
}

// Spending of all runs together, and the delta and adjacency that it is reported at.
Facts spent_so_far(const JsonFields& ledger, const std::vector<JsonFields>& runs) {
  if (runs.empty()) return {};
  Facts facts =
      facts_of(runs.back().object("so_far"),
               {{"epsilon", "", Written::kAtMost}, {"delta", "", Written::kAtMost}, {"mu", "", Written::kAtMost}});
  facts.push_back({"neighbors", ledger.text("adjacency")});
  facts.push_back({"runs", figure(runs.size())});
  if (const std::vector<nlohmann::json> deltas = ledger.numbers("deltas_of_runs"); deltas.size() > 1) {
    facts.push_back({"deltas of runs", figure(deltas.size())});
    facts.push_back({"the least of them", at_most(deltas.front())});
    facts.push_back({"the largest", at_most(deltas.back())});
  }
  return facts;
}

Table open_runs_of(const JsonFields& ledger) {
  Table table{.caption = "Runs that have not ended, and what they may still charge",
              .columns = {"run", "since", "method", "release", "times", "mu", "epsilon"}};
  for (const JsonFields& run : ledger.objects("open_runs")) {
    const auto add = [&](const JsonFields& part) {
      table.add({run.text("run"), run.text("since"), method_of(run), part.has("name") ? part.text("name") : "nothing",
                 figure(part.number("rounds")), at_most(part.number("mu")), at_most(part.number("epsilon"))});
    };
    const std::vector<JsonFields> releases = run.objects("releases");
    const std::vector<JsonFields> selections = run.objects("selections");
    for (const JsonFields& release : releases) add(release);
    for (const JsonFields& selection : selections) add(selection);
    if (releases.empty() && selections.empty()) add(run.object("remains"));
  }
  return table;
}

}  // namespace

std::vector<Section> ledger_sections(const PageDocument& document) {
  const JsonFields ledger(document.content, document.name);
  const std::vector<JsonFields> runs = ledger.objects("runs");
  std::vector<Section> sections{{"Spent on these records, all runs together", {spent_so_far(ledger, runs)}},
                                {"The budget over the ledger's life",
                                 {life_block(runs), table_of("All releases", ledger.objects("releases"),
                                                             {{"release", "", Written::kText},
                                                              {"time", "", Written::kText},
                                                              {"asked", "requested method", Written::kText},
                                                              {"method", "", Written::kText},
                                                              {"mu", "", Written::kAtMost},
                                                              {"rho", "", Written::kAtMost},
                                                              {"sampling_rate"}},
                                                             "All releases")}},
                                {"Open runs", {open_runs_of(ledger)}}};
  return sections;
}

// Several reported runs side by side: a table of all, and their accuracies over epsilon.

namespace {

// Null where the report has none. `is_public`: nor where it has an exact one.
nlohmann::json accuracy_of(const ReportedRun& run, bool is_public) {
  if (is_public && !(run.figures && run.figures->is_private)) return nullptr;
  for (auto& [name, number] : numbers_alone(JsonFields(run.content, ""))) {
    if (name == "accuracy") return number;
  }
  return nullptr;
}

Table side_by_side(std::span<const PageDocument* const> runs, bool is_public) {
  Table table{.caption = "The reports of this page",
              .columns = {"report", "method", "epsilon", "accuracy", "delta", "mu", "neighbors"}};
  for (const PageDocument* document : runs) {
    const ReportedRun& run = *document->run;
    const std::optional<ReportedGuarantee> promise = run.guarantee;
    const auto cost = [&](std::optional<double> figure) { return figure ? at_most(*figure) : Cell("–"); };
    table.add({document->name, run.method_text(), promise ? at_most(promise->epsilon) : "not private",
               percent(accuracy_of(run, is_public)), cost(promise ? std::optional(promise->delta) : std::nullopt),
               cost(promise ? promise->mu : std::nullopt), promise ? Cell(to_string(promise->adjacency)) : "–"});
  }
  return table;
}

// Runs by their epsilons, a column for each method.
Chart accuracy_chart(std::span<const PageDocument* const> runs, bool is_public) {
  Table values{.caption = "Accuracy by epsilon", .columns = {"epsilon"}};
  std::vector<std::string>& columns = values.columns;
  std::vector<std::tuple<double, std::size_t, nlohmann::json>> points;  // epsilon, column, accuracy
  for (const PageDocument* document : runs) {
    const ReportedRun& run = *document->run;
    if (run.is_evaluation || !run.guarantee || !(run.guarantee->epsilon > 0.0)) continue;
    if (accuracy_of(run, is_public).is_null()) continue;
    auto column = std::find(columns.begin() + 1, columns.end(), run.method_text());
    if (column == columns.end()) column = columns.insert(column, run.method_text());
    points.emplace_back(run.guarantee->epsilon, column - columns.begin(), accuracy_of(run, is_public));
  }
  if (points.size() < 2) return {};
  std::ranges::stable_sort(points, {}, [](const auto& point) { return std::get<0>(point); });
  for (const auto& [epsilon, column, accuracy] : points) {
    std::vector<Cell> cells(columns.size(), "–");
    cells[0] = at_most(epsilon);
    cells[column] = percent(accuracy);
    values.add(std::move(cells));
  }
  const std::vector<std::string> methods(columns.begin() + 1, columns.end());
  return line_chart("Accuracy against epsilon", "Each mark is a report. Compare those that have the same test rows.",
                    {"epsilon, logarithmic", "log"}, {.label = "accuracy on test rows", .is_share = true}, methods,
                    std::move(values));
}

}  // namespace

std::vector<Section> comparison_sections(std::span<const PageDocument> documents, Audience audience,
                                         const std::vector<Words>& shared) {
  std::vector<const PageDocument*> runs;
  for (const PageDocument& document : documents) {
    if (document.run) runs.push_back(&document);
  }
  if (runs.size() < 2) return {};
  const bool is_public = audience == Audience::kPublic;
  const bool tells_exact = std::ranges::any_of(
      runs, [](const PageDocument* one) { return accuracy_of(*one->run, false) != accuracy_of(*one->run, true); });
  return {{"Side by side",
           {side_by_side(runs, is_public), accuracy_chart(runs, is_public)},
           is_public || !tells_exact ? "" : "accuracies are exact figures about test rows, outside the guarantee"},
          {"The guarantee of all of them, and against whom it holds", {shared.begin(), shared.end()}}};
}

}  // namespace dpreduce
