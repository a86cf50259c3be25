#include "report/ledger_json.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"
#include "common/ledger/data_set_budget.hpp"
#include "common/ledger/ledger_line.hpp"
#include "common/ledger/spending.hpp"

namespace dpreduce {

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
  for (const RunTerms* terms : state.all_terms()) {
    if (terms->is_private && terms->delta.value_or(0.0) > 0.0) deltas.insert(*terms->delta);
  }
  return {deltas.begin(), deltas.end()};
}

double reported_delta(const LedgerState& state) {
  const std::vector<double> deltas = deltas_of_runs(state);
  return deltas.empty() ? kReportedDelta : deltas.front();
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
  for (const SpentSoFar& so_far : spent_run_by_run(runs, delta, adjacency)) {
    const auto& [run, charges] = runs[json.size()];
    const RunTerms& terms = charges.front().entry.terms;
    json.push_back(
        {{"run", run},
         {"since", charges.front().utc_time},
         {"method", terms.method},
         {"private", terms.is_private},
         {"releases", charges.size()},
         {"so_far", {{"mu", so_far.mu}, {"rho", so_far.rho}, {"epsilon", or_null(so_far.epsilon)}, {"delta", delta}}}});
    if (!terms.asked.empty()) json.back()["asked"] = terms.asked;
    for (const PublicByWord word : terms.public_by_word) json.back()["public_by_word"].push_back(to_string(word));
    if (!terms.forfeits.empty()) json.back()["forfeited_by"] = forfeits_json<nlohmann::json>(terms.forfeits);
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

std::vector<SpentSoFar> spent_run_by_run(const std::vector<ChargesOfRun>& runs, double delta, Adjacency adjacency) {
  std::vector<SpentSoFar> spent;
  Spending so_far;
  for (const ChargesOfRun& run : runs) {
    so_far = composed(so_far, spending_of(run.charges, adjacency));
    spent.push_back({so_far.mu, rho_of(so_far), std::nullopt});
    if (!so_far.is_gaussian() && spent.size() + kMostDistributions <= runs.size()) continue;
    if (const double epsilon = epsilon_of(so_far, delta); std::isfinite(epsilon)) spent.back().epsilon = epsilon;
  }
  return spent;
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
