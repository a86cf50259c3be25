#include "report/ledger_text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "common/ledger/data_set_budget.hpp"
#include "common/ledger/ledger_line.hpp"
#include "common/ledger/spending.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

std::string spent_by_run(const Spending& spent, bool shows_distribution, double delta) {
  if (spent.is_gaussian() || shows_distribution) return spent_text(spent, delta);
  return "rho " + upper_figure(rho_of(spent));
}

// "2026-01-01T00:00:00Z  run aa  gd  epsilon 1 at delta 1e-06, add-remove".
std::string heading_of(const ChargesOfRun& run, bool shows_distribution, double delta) {
  const RunTerms& terms = run.charges.front().entry.terms;
  std::string spent = words_of(terms.forfeits) + ": NOT private, not counted";
  if (terms.is_private) {
    spent = fmt::format("{}, {}{}", spent_by_run(spending_of(run.charges, terms.adjacency), shows_distribution, delta),
                        to_string(terms.adjacency),
                        terms.unit == PrivacyUnit::kRecord ? "" : fmt::format(" of {}", name_of(terms.unit)));
  }
  for (const PublicByWord word : terms.public_by_word) spent += fmt::format(", {} declared public", to_string(word));
  return fmt::format("{}  run {}  {}  {}", run.charges.front().utc_time, run.run,
                     method_text_of(terms.asked, terms.method), spent);
}

std::string text_of(const ChargesOfRun& run, bool shows_distribution, double delta) {
  std::vector<ReportedBlock> blocks;
  Facts others;
  for (const LedgerCharge& charge : run.charges) {
    const LedgerEntry& entry = charge.entry;
    const std::string label = entry.release_id.substr(entry.release_id.find('/') + 1);
    for (const LedgerBlock& block : entry.blocks) {
      blocks.push_back({.name = block.name,
                        .release = label,
                        .coordinates = block.elements,
                        .sensitivity = block.sensitivity,
                        .sigma = block.sigma,
                        .sampling_rate = entry.sampling_rate});
    }
    if (entry.selection) {
      const SelectionTerms& terms = *entry.selection;
      others.push_back(
          {"  " + label,
           fmt::format("selection by {}: {} of {} candidates{}, epsilon {}", to_string(terms.mechanism), terms.chosen,
                       terms.candidates, terms.groups == 1 ? "" : fmt::format(" in each of {} groups", terms.groups),
                       upper_figure(terms.epsilon))});
    }
    const std::string silos = entry.terms.silos ? silos_text(*entry.terms.silos) : "";
    if (!silos.empty() && (others.empty() || others.back().value.text != silos))
      others.push_back({"  " + label, silos});
  }
  return heading_of(run, shows_distribution, delta) + "\n" + text_of(releases_table("", blocks)) + text_of(others);
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

std::vector<double> deltas_of_runs(const LedgerState& state) {
  std::set<double> deltas;
  const auto add = [&](const RunTerms& terms) {
    if (terms.is_private && terms.delta.value_or(0.0) > 0.0) deltas.insert(*terms.delta);
  };
  for (const LedgerCharge& charge : state.charges()) add(charge.entry.terms);
  for (const auto& [run_id, run] : state.open_runs()) add(run.remains.terms);
  return {deltas.begin(), deltas.end()};
}

double reported_delta(const LedgerState& state) {
  const std::vector<double> deltas = deltas_of_runs(state);
  return deltas.empty() ? kReportedDelta : deltas.front();
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

std::string ledger_text(const LedgerState& state, std::optional<double> asked,
                        std::optional<Adjacency> requested_adjacency) {
  const double delta = asked.value_or(reported_delta(state));
  const Adjacency adjacency = requested_adjacency.value_or(strictest_adjacency(state));
  std::string text;
  if (const std::vector<double> deltas = deltas_of_runs(state); !asked && deltas.size() > 1) {
    text = fmt::format(
        "runs have {} deltas, from {} to {}; epsilons are reported at the smallest (--delta chooses another)\n",
        deltas.size(), upper_figure(deltas.front()), upper_figure(deltas.back()));
  }
  const std::vector<ChargesOfRun> runs = charges_by_run(state);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    text += text_of(runs[run], run + kMostDistributions >= runs.size(), delta);
  }
  const std::vector<LedgerCharge>& charges = state.charges();
  text += fmt::format("{} {}", charges.size(), charges.size() == 1 ? "release" : "releases");
  if (!charges.empty()) {
    const bool are_persons = charges.front().entry.terms.unit == PrivacyUnit::kPerson;
    const Spending spent = spending_of(charges, adjacency);
    text += fmt::format("; if all were about the same {} ({}): {} together ({})", are_persons ? "persons" : "records",
                        to_string(adjacency), spent_text(spent, delta),
                        spent.is_gaussian() ? "mu " + upper_figure(spent.mu) : "rho " + upper_figure(rho_of(spent)));
  }
  if (!state.open_runs().empty()) {
    text +=
        "\nopen runs, and what they may still charge (still running, or ended early: resume them, or use ledger "
        "release):";
  }
  for (const auto& [run_id, run] : state.open_runs()) {
    const RunTerms& terms = run.remains.terms;
    text +=
        "\n" + text_of(remains_table(
                   fmt::format("{}  run {}  {}{}", run.since, run_id, method_text_of(terms.asked, terms.method),
                               terms.is_private ? "" : fmt::format("  ({}: NOT private)", words_of(terms.forfeits))),
                   run.remains));
    text.pop_back();
  }
  return text + "\n";
}

namespace {

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
  Spending so_far;
  for (const auto& [run, charges] : runs) {
    const LedgerCharge& first = charges.front();
    so_far = composed(so_far, spending_of(charges, adjacency));
    const bool has_epsilon = so_far.is_gaussian() || json.size() + kMostDistributions >= runs.size();
    const double epsilon = has_epsilon ? epsilon_of(so_far, delta) : 0.0;
    json.push_back({{"run", run},
                    {"since", first.utc_time},
                    {"method", first.entry.terms.method},
                    {"private", first.entry.terms.is_private},
                    {"releases", charges.size()},
                    {"so_far",
                     {{"mu", so_far.mu},
                      {"rho", rho_of(so_far)},
                      {"epsilon", has_epsilon && std::isfinite(epsilon) ? nlohmann::json(epsilon) : nlohmann::json()},
                      {"delta", delta}}}});
    if (!first.entry.terms.asked.empty()) json.back()["asked"] = first.entry.terms.asked;
    for (const PublicByWord word : first.entry.terms.public_by_word) {
      json.back()["public_by_word"].push_back(to_string(word));
    }
    if (!first.entry.terms.forfeits.empty()) {
      json.back()["forfeited_by"] = forfeits_json<nlohmann::json>(first.entry.terms.forfeits);
    }
  }
  return json;
}

}  // namespace

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

}  // namespace dpreduce
