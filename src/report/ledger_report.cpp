#include "report/ledger_report.hpp"

#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "common/ledger/ledger_line.hpp"
#include "common/ledger/spending.hpp"
#include "report/document_sections.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

// Largest number of runs, the last of a ledger, that get a privacy loss distribution: each takes time, so that earlier
// runs get none.
constexpr std::size_t kMostDistributions = 100;

// Spending of each run and of all before it together, as if about the same records: {"mu", "rho", "epsilon", "delta"},
// for neighbors by `adjacency`. Epsilon is null if none is finite, and of earlier runs than kMostDistributions.
std::vector<nlohmann::json> spent_run_by_run(const std::vector<ChargesOfRun>& runs, double delta, Adjacency adjacency) {
  std::vector<nlohmann::json> spent;
  Spending so_far;
  for (const ChargesOfRun& run : runs) {
    so_far = composed(so_far, spending_of(run.charges, adjacency));
    spent.push_back({{"mu", so_far.mu}, {"rho", rho_of(so_far)}, {"epsilon", nullptr}, {"delta", delta}});
    if (!so_far.is_gaussian() && spent.size() + kMostDistributions <= runs.size()) continue;
    if (const double epsilon = epsilon_of(so_far, delta); std::isfinite(epsilon)) spent.back()["epsilon"] = epsilon;
  }
  return spent;
}

// Deltas that private runs declare, ascending, each once.
std::vector<double> deltas_of_runs(const LedgerState& state) {
  std::set<double> deltas;
  for (const RunTerms* terms : state.all_terms()) {
    if (terms->is_private && terms->delta.value_or(0.0) > 0.0) deltas.insert(*terms->delta);
  }
  return {deltas.begin(), deltas.end()};
}

// Fields of a line, without its place in the chain.
nlohmann::json fields_of(decltype(LedgerRecord::content) content, const std::string& utc_time) {
  nlohmann::json fields = parse_json(print_unsigned({std::move(content), utc_time, kNoPrevious}));
  for (const char* name : {"schema", "kind", "previous"}) fields.erase(name);
  return fields;
}

// Charges of each run, and the spending of it and of all before it together.
nlohmann::json runs_of(const LedgerState& state, double delta, Adjacency adjacency) {
  const std::vector<ChargesOfRun> runs = charges_by_run(state);
  nlohmann::json json = nlohmann::json::array();
  for (const nlohmann::json& so_far : spent_run_by_run(runs, delta, adjacency)) {
    const auto& [run, charges] = runs[json.size()];
    const RunTerms& terms = charges.front().entry.terms;
    json.push_back({{"run", run},
                    {"since", charges.front().utc_time},
                    {"method", terms.method},
                    {"private", terms.is_private},
                    {"releases", charges.size()},
                    {"so_far", so_far}});
    if (!terms.asked.empty()) json.back()["asked"] = terms.asked;
    for (const PublicByWord word : terms.public_by_word) json.back()["public_by_word"].push_back(to_string(word));
    if (!terms.forfeits.empty()) json.back()["forfeited_by"] = forfeits_json<nlohmann::json>(terms.forfeits);
  }
  return json;
}

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
  for (const nlohmann::json& so_far : spent_run_by_run(runs, delta, adjacency)) {
    const ChargesOfRun& run = runs[values.rows.size()];
    const LedgerCharge& first = run.charges.front();
    if (so_far.at("epsilon").is_number()) ++with_epsilon;
    values.add({run.run, first.utc_time, method_of(first.entry.terms), figure(run.charges.size()),
                at_most(so_far.at("epsilon")), at_most(so_far.at("mu")), at_most(so_far.at("rho"))});
  }
  if (with_epsilon < 2) {
    values.summary = values.caption;
    return values;
  }
  const std::string at_delta = " at delta " + upper_figure(delta);
  Chart chart =
      line_chart("Epsilon spent over the ledger's life" + at_delta,
                 "Each step is one run with all its releases, if all runs were about the same records or persons.",
                 {{"label", "runs so far"}, {"scale", "count"}}, {{"label", "epsilon of all together" + at_delta}},
                 {"spent"}, std::move(values));
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
  const char* const advice = "still running, or ended early: resume them, or give them up with dpreduce ledger release";
  Section section{"Open runs, and what they may still charge", {Words{{}, {state.open_runs().empty() ? "" : advice}}}};
  for (const auto& [run_id, run] : state.open_runs()) {
    section.blocks.emplace_back(remains_table(heading_of(run.since, run_id, run.remains.terms), run.remains));
  }
  return section;
}

}  // namespace

std::string silos_text(const LedgerSilos& silos) {
  const char* const who =
      silos.is_ephemeral ? "; identities ephemeral (no roster): a simulation, in which nobody knows who the parties are"
                         : "";
  if (!silos.is_of_silo()) {
    return fmt::format("among silos: noise {}, {} left when charged, at least {} to the end, {} colluding{}",
                       to_string(silos.noise), silos.left, silos.threshold, silos.colluding, who);
  }
  if (silos.noise == NoiseSource::kCentral) {
    return fmt::format(
        "account of silo {}: central noise; holds against readers of published results, not against the coordinator{}",
        silos.silo, who);
  }
  return fmt::format(
      "account of silo {}: distributed noise, at least {} honest shares; holds against the coordinator and {} "
      "colluding silos, too{}",
      silos.silo, silos.threshold - silos.colluding, silos.colluding, who);
}

double reported_delta(const LedgerState& state) {
  const std::vector<double> deltas = deltas_of_runs(state);
  return deltas.empty() ? kReportedDelta : deltas.front();
}

std::vector<ChargesOfRun> charges_by_run(const LedgerState& state) {
  std::vector<ChargesOfRun> runs;
  std::map<std::string, std::size_t> place;
  for (const LedgerCharge& charge : state.charges()) {
    const std::string run = run_of(charge.entry.release_id);
    const auto [found, is_new] = place.emplace(run, runs.size());
    if (is_new) runs.push_back({run, {}});
    runs[found->second].charges.push_back(charge);
  }
  return runs;
}

nlohmann::json json_of_ledger(const LedgerState& state, std::optional<double> asked,
                              std::optional<Adjacency> requested_adjacency) {
  const double delta = asked.value_or(reported_delta(state));
  const Adjacency adjacency = requested_adjacency.value_or(strictest_adjacency(state));
  nlohmann::json releases = nlohmann::json::array();
  for (const LedgerCharge& charge : state.charges()) {
    releases.push_back(fields_of(charge.entry, charge.utc_time));
  }
  nlohmann::json open_runs = nlohmann::json::array();
  for (const auto& [run_id, run] : state.open_runs()) {
    nlohmann::json fields = fields_of(run.remains, run.since);
    fields["since"] = fields["time"];
    fields.erase("time");
    open_runs.push_back(std::move(fields));
  }
  const Spending spent = spending_of(state.charges(), adjacency);
  nlohmann::json whole{{"releases", releases},
                       {"adjacency", to_string(adjacency)},
                       {"runs", runs_of(state, delta, adjacency)},
                       {"mu", spent.mu},
                       {"rho", rho_of(spent)},
                       {"deltas_of_runs", deltas_of_runs(state)},
                       {"open_runs", open_runs}};
  if (!spent.samples.empty()) {
    whole["epsilon"] = epsilon_of(spent, delta);
    whole["delta"] = delta;
  }
  return whole;
}

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

}  // namespace dpreduce
