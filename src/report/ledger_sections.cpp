// Sections on several runs: those of a ledger one after the other, and reported ones side by side.
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/json_text.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/base/text.hpp"
#include "common/ledger/data_set_budget.hpp"
#include "report/document_sections.hpp"
#include "report/ledger_json.hpp"
#include "report/reported_run.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {

// A ledger: what its runs have spent, one after the other.

namespace {

std::string method_of(const RunTerms& terms) {
  return method_text_of(terms.asked, terms.method) +
         (terms.is_private ? "" : fmt::format(" ({}: NOT private, not counted)", words_of(terms.forfeits)));
}

std::string heading_of(const std::string& since, const std::string& run, const RunTerms& terms) {
  std::string heading = fmt::format("{}, run {}, {}", since, run, method_of(terms));
  for (const PublicByWord word : terms.public_by_word) heading += fmt::format(", {} declared public", to_string(word));
  return heading;
}

// Releases of a run, rounds that are alike in one row, under "2026-01-01T00:00:00Z, run aa, gd: epsilon 1 at delta
// 1e-06, add-remove".
Table run_table(const ChargesOfRun& run, bool shows_distribution, double delta) {
  const RunTerms& terms = run.charges.front().entry.terms;
  std::string heading = heading_of(run.charges.front().utc_time, run.run, terms);
  if (terms.is_private) {
    const Spending spent = spending_of(run.charges, terms.adjacency);
    const bool has_epsilon = spent.is_gaussian() || shows_distribution;
    heading += fmt::format(": {}, {}{}", has_epsilon ? spent_text(spent, delta) : "rho " + upper_figure(rho_of(spent)),
                           to_string(terms.adjacency),
                           terms.unit == PrivacyUnit::kRecord ? "" : fmt::format(" of {}", name_of(terms.unit)));
  }
  std::vector<ReportedBlock> blocks;
  std::vector<std::vector<Cell>> selections;
  std::string silos;
  for (const LedgerCharge& charge : run.charges) {
    const LedgerEntry& entry = charge.entry;
    const std::string label = entry.release_id.substr(entry.release_id.find('/') + 1);
    for (const LedgerBlock& block : entry.blocks) blocks.push_back({block, label, entry.sampling_rate});
    if (const std::optional<SelectionTerms>& own = entry.selection) {
      selections.push_back(
          {fmt::format("selection by {}: {} of {} candidates{}", to_string(own->mechanism), own->chosen,
                       own->candidates, own->groups == 1 ? "" : fmt::format(" in each of {} groups", own->groups)),
           label, figure(1), "-", "-", "-", "epsilon " + upper_figure(own->epsilon)});
    }
    const std::string now = entry.terms.silos ? silos_text(*entry.terms.silos) : "";
    if (now != silos) heading += fmt::format("; {}{}", silos.empty() ? "" : fmt::format("from {} on ", label), now);
    silos = now;
  }
  Table table = releases_table(heading, blocks);
  for (std::vector<Cell>& selection : selections) table.add(std::move(selection));
  return table;
}

// Spending of all runs together.
Facts spent_facts(const LedgerState& state, std::size_t runs, double delta, Adjacency adjacency) {
  const Spending spent = spending_of(state.charges(), adjacency);
  const double epsilon = epsilon_of(spent, delta);
  Facts facts{{"epsilon", std::isfinite(epsilon) ? at_most(epsilon) : "no finite bound"},
              {"delta", at_most(delta)},
              spent.is_gaussian() ? Fact{"mu", at_most(spent.mu)} : Fact{"rho", at_most(rho_of(spent))},
              {"neighbors", to_string(adjacency)},
              {"runs", figure(runs)},
              {"releases", figure(state.charges().size())}};
  if (const std::vector<double> deltas = deltas_of_runs(state); deltas.size() > 1) {
    facts.push_back({"deltas of runs", fmt::format("{}, from {} to {}", deltas.size(), upper_figure(deltas.front()),
                                                   upper_figure(deltas.back()))});
  }
  return facts;
}

Block life_block(const std::vector<ChargesOfRun>& runs, double delta, Adjacency adjacency) {
  Table values{.caption = "Spending, run by run",
               .columns = {"run", "since", "method", "releases", "epsilon of all so far", "mu of all so far",
                           "rho of all so far"}};
  std::size_t with_epsilon = 0;
  for (const SpentSoFar& so_far : spent_run_by_run(runs, delta, adjacency)) {
    const ChargesOfRun& run = runs[values.rows.size()];
    const LedgerCharge& first = run.charges.front();
    if (so_far.epsilon) ++with_epsilon;
    values.add({run.run, first.utc_time, method_of(first.entry.terms), figure(run.charges.size()),
                at_most(or_null(so_far.epsilon)), at_most(so_far.mu), at_most(so_far.rho)});
  }
  if (with_epsilon < 2) {
    values.summary = values.caption;
    return values;
  }
  const std::string at_delta = " at delta " + upper_figure(delta);
  Chart chart =
      line_chart("Epsilon spent over the ledger's life" + at_delta,
                 "Each step is one run with all its releases, if all runs were about the same records or persons.",
                 {"runs so far", "count"}, {"epsilon of all together" + at_delta}, {"spent"}, std::move(values));
  chart.spec["series"][0].update({{"column", 4}, {"draw", "step"}});
  chart.spec["from"] = 0.0;
  return chart;
}

Table all_releases(const LedgerState& state) {
  Table table{.caption = "All releases",
              .columns = {"release", "time", "method", "mu", "rho", "sampling rate"},
              .summary = "All releases"};
  for (const auto& [entry, time, line] : state.charges()) {
    table.add({entry.release_id, time, method_of(entry.terms), entry.selection ? figure(nullptr) : at_most(entry.mu),
               at_most(entry.selection ? rho_of(*entry.selection) : entry.mu * entry.mu / 2),
               figure(entry.sampling_rate)});
  }
  return table;
}

Section open_runs_section(const LedgerState& state) {
  Section section{"Open runs, and what they may still charge", {}};
  if (state.open_runs().empty()) return section;
  section.blocks.emplace_back(
      Words{{}, {"still running, or ended early: resume them, or give them up with dpreduce ledger release"}});
  for (const auto& [run_id, run] : state.open_runs()) {
    section.blocks.emplace_back(remains_table(heading_of(run.since, run_id, run.remains.terms), run.remains));
  }
  return section;
}

}  // namespace

Table remains_table(std::string caption, const Reservation& remains) {
  Table table{.caption = std::move(caption), .columns = {"release", "times", "mu", "sampling rate", "epsilon"}};
  for (const ReservedRelease& release : remains.releases) {
    table.add({release.name, figure(release.rounds), at_most(release.mu), figure(release.sampling_rate), "-"});
  }
  for (const PlannedSelection& selection : remains.selections) {
    table.add({selection.name, figure(1), "-", "-", at_most(selection.terms.epsilon)});
  }
  if (remains.is_empty()) table.add({"nothing", "-", "-", "-", "-"});
  return table;
}

std::vector<Section> ledger_sections(const LedgerState& state, std::optional<double> asked,
                                     std::optional<Adjacency> requested_adjacency) {
  const double delta = asked.value_or(reported_delta(state));
  const Adjacency adjacency = requested_adjacency.value_or(strictest_adjacency(state));
  const std::vector<ChargesOfRun> runs = charges_by_run(state);
  const bool are_persons = !runs.empty() && runs.front().charges.front().entry.terms.unit == PrivacyUnit::kPerson;
  Section each{"Releases of each run", {}};
  for (std::size_t run = 0; run < runs.size(); ++run) {
    each.blocks.emplace_back(run_table(runs[run], run + kMostDistributions >= runs.size(), delta));
  }
  return {{fmt::format("Spent by all runs together, as if about the same {}", are_persons ? "persons" : "records"),
           {spent_facts(state, runs.size(), delta, adjacency)}},
          {"The budget over the ledger's life", {life_block(runs, delta, adjacency), all_releases(state)}},
          open_runs_section(state),
          std::move(each)};
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
