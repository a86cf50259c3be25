#include "report/ledger_text.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"
#include "common/base/number_text.hpp"
#include "common/ledger/data_set_budget.hpp"
#include "common/ledger/ledger_line.hpp"
#include "common/plan/spending.hpp"
#include "report/reported_run.hpp"

namespace dpreduce {
namespace {

std::string of_sample(double sampling_rate) {
  return sampling_rate < 1.0 ? fmt::format(" of a row that is drawn (probability {:g})", sampling_rate) : "";
}

// "gradient" of "gradient/3"; empty where the label is of no round.
std::string_view name_of_round(std::string_view label) {
  const std::size_t slash = label.rfind('/');
  if (slash == std::string_view::npos || slash + 1 == label.size()) return {};
  const bool is_number =
      std::ranges::all_of(label.substr(slash + 1), [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_number ? label.substr(0, slash) : std::string_view{};
}

// Whether the charges are rounds of one release, alike in all but their number.
bool are_rounds_of_one(const LedgerEntry& one, const LedgerEntry& other) {
  const std::string first = label_of(one);
  const std::string second = label_of(other);
  if (name_of_round(first).empty() || name_of_round(first) != name_of_round(second)) return false;
  LedgerEntry renamed = other;
  renamed.release_id = one.release_id;
  return renamed == one;
}

std::string rounds_text(std::span<const LedgerCharge> rounds) {
  const std::string first = label_of(rounds.front().entry);
  if (rounds.size() == 1) return first;
  const std::string last = label_of(rounds.back().entry);
  return fmt::format("{} to {}", first, last.substr(last.rfind('/') + 1));
}

void print_rounds(std::span<const LedgerCharge> rounds) {
  const LedgerEntry& entry = rounds.front().entry;
  if (entry.selection) {
    const SelectionTerms& terms = *entry.selection;
    fmt::print("    {}: selection by {}: {} of {} candidates{}, epsilon {}\n", label_of(entry),
               to_string(terms.mechanism), terms.chosen, terms.candidates,
               terms.groups == 1 ? "" : fmt::format(" in each of {} groups", terms.groups),
               upper_figure(terms.epsilon));
  } else {
    fmt::print("    {}: mu {}{}{}\n", rounds_text(rounds), upper_figure(entry.mu), rounds.size() > 1 ? " each" : "",
               of_sample(entry.sampling_rate));
  }
  if (entry.terms.silos) fmt::print("        {}\n", silos_text(*entry.terms.silos));
  for (const LedgerBlock& block : entry.blocks) {
    fmt::print("        {:<14} {:>12} coordinates, {}\n", block.name, block.elements,
               noise_text(block.sigma, block.sensitivity));
  }
}

std::string spent_by_run(const Spending& spent, bool tells_distribution, double delta) {
  if (spent.is_gaussian() || tells_distribution) return spent_text(spent, delta);
  return "rho " + upper_figure(rho_of(spent));
}

std::string adjacency_text(const RunTerms& terms) {
  const std::string adjacency(to_string(terms.adjacency));
  return terms.unit == PrivacyUnit::kRecord ? adjacency : fmt::format("{} of {}", adjacency, name_of(terms.unit));
}

void print_run(const ChargesOfRun& run, bool tells_distribution, double delta) {
  const LedgerCharge& first = run.charges.front();
  const RunTerms& terms = first.entry.terms;
  const std::string spent =
      terms.is_private
          ? fmt::format("{}, {}", spent_by_run(spending_of(run.charges, terms.adjacency), tells_distribution, delta),
                        adjacency_text(terms))
          : fmt::format("{}: NOT private, not counted", words_of(terms.forfeits));
  std::string words;
  for (const PublicByWord word : terms.public_by_word) words += fmt::format(", {} public by word", to_string(word));
  fmt::print("{}  run {}  {}  {}{}\n", first.utc_time, run.run, method_text_of(terms.asked, terms.method), spent,
             words);
  const std::span<const LedgerCharge> charges = run.charges;
  for (std::size_t begin = 0; begin < charges.size();) {
    std::size_t end = begin + 1;
    while (end < charges.size() && are_rounds_of_one(charges[begin].entry, charges[end].entry)) ++end;
    print_rounds(charges.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace

std::string silos_text(const LedgerSilos& silos) {
  const char* const who =
      silos.is_ephemeral ? "; identities ephemeral (no roster): nobody knows who the parties are, as in a simulation"
                         : "";
  if (!silos.is_of_silo()) {
    return fmt::format("among silos: noise {}, {} left when charged, at least {} to the end, {} colluding{}",
                       to_string(silos.noise), silos.left, silos.threshold, silos.colluding, who);
  }
  if (silos.noise == NoiseSource::kCentral) {
    return fmt::format(
        "account of silo {}: central noise; holds for readers of what is published, not against the coordinator{}",
        silos.silo, who);
  }
  return fmt::format(
      "account of silo {}: distributed noise, at least {} honest shares; holds against the coordinator and {} "
      "colluding silos, too{}",
      silos.silo, silos.threshold - silos.colluding, silos.colluding, who);
}

std::string label_of(const LedgerEntry& entry) {
  const std::size_t slash = entry.release_id.find('/');
  return slash == std::string::npos ? entry.release_id : entry.release_id.substr(slash + 1);
}

void print_remains(const Reservation& remains) {
  if (remains.is_empty()) fmt::print("    nothing\n");
  for (const ReservedRelease& release : remains.releases) {
    fmt::print("    {:<14} {:>12} {} of mu {}{}\n", release.name, release.rounds,
               release.rounds == 1 ? "round" : "rounds", upper_figure(release.mu), of_sample(release.sampling_rate));
  }
  for (const PlannedSelection& selection : remains.selections) {
    fmt::print("    {:<14} selection of epsilon {}\n", selection.name, upper_figure(selection.terms.epsilon));
  }
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

double delta_to_tell(const LedgerState& state) {
  const std::vector<double> deltas = deltas_of_runs(state);
  return deltas.empty() ? kDeltaToTell : deltas.front();
}

void print_ledger(const LedgerState& state, std::optional<double> asked, std::optional<Adjacency> asked_adjacency) {
  const double delta = asked.value_or(delta_to_tell(state));
  const Adjacency adjacency = asked_adjacency.value_or(strictest_adjacency(state));
  if (const std::vector<double> deltas = deltas_of_runs(state); !asked && deltas.size() > 1) {
    fmt::print("runs state {} deltas, from {} to {}; epsilons are told at the least (--delta tells them at another)\n",
               deltas.size(), upper_figure(deltas.front()), upper_figure(deltas.back()));
  }
  const std::vector<ChargesOfRun> runs = charges_by_run(state);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    print_run(runs[run], run + kMostDistributions >= runs.size(), delta);
  }
  const std::vector<LedgerCharge>& charges = state.charges();
  fmt::print("{} {}", charges.size(), charges.size() == 1 ? "release" : "releases");
  if (!charges.empty()) {
    const bool are_persons = charges.front().entry.terms.unit == PrivacyUnit::kPerson;
    const Spending spent = spending_of(charges, adjacency);
    fmt::print("; if all were about the same {} ({}): {} together ({})", are_persons ? "persons" : "records",
               to_string(adjacency), spent_text(spent, delta),
               spent.is_gaussian() ? "mu " + upper_figure(spent.mu) : "rho " + upper_figure(rho_of(spent)));
  }
  fmt::print("\n");
  if (state.open_runs().empty()) return;
  fmt::print("open runs, and what they may still charge (alive, or ended early: resume those, or ledger release):\n");
  for (const auto& [run_id, run] : state.open_runs()) {
    fmt::print(
        "{}  run {}  {}{}\n", run.since, run_id, method_text_of(run.remains.terms.asked, run.remains.terms.method),
        run.remains.terms.is_private ? "" : fmt::format("  ({}: NOT private)", words_of(run.remains.terms.forfeits)));
    print_remains(run.remains);
  }
}

namespace {

// What the line says, without its place in the chain.
nlohmann::json fields_of(decltype(LedgerRecord::content) content, const std::string& utc_time) {
  nlohmann::json fields = parse_json(print_unsigned({std::move(content), utc_time, kNoPrevious}));
  for (const char* name : {"schema", "kind", "previous"}) fields.erase(name);
  return fields;
}

// What each run has charged, and what it and all before it spent together.
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
                              std::optional<Adjacency> asked_adjacency) {
  const double delta = asked.value_or(delta_to_tell(state));
  const Adjacency adjacency = asked_adjacency.value_or(strictest_adjacency(state));
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
