#include <cmath>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"
#include "common/ledger/data_set_budget.hpp"
#include "common/ledger/ledger_line.hpp"
#include "common/plan/spending.hpp"
#include "report/ledger_text.hpp"

namespace dpreduce {
namespace {

// What the line says, without its place in the chain.
nlohmann::json fields_of(decltype(LedgerRecord::content) content, const std::string& utc_time) {
  nlohmann::json fields = parse_json(print_unsigned({std::move(content), utc_time, kNoPrevious}));
  for (const char* name : {"schema", "kind", "previous"}) fields.erase(name);
  return fields;
}

// What each run has charged, and what it and all before it spent together.
nlohmann::json runs_of(const LedgerState& state, double delta) {
  const std::vector<ChargesOfRun> runs = charges_by_run(state);
  nlohmann::json json = nlohmann::json::array();
  Spending so_far;
  for (const auto& [run, charges] : runs) {
    so_far = composed(so_far, spending_of(charges, Adjacency::kAddRemove));
    const LedgerCharge& first = charges.front();
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

nlohmann::json json_of_ledger(const LedgerState& state, double delta) {
  nlohmann::json releases = nlohmann::json::array();
  for (const LedgerCharge& charge : state.charges()) {
    releases.push_back(fields_of(charge.entry, charge.utc_time));
    releases.back()["rounds"] = charge.entry.rounds;
  }
  nlohmann::json open_runs = nlohmann::json::array();
  for (const auto& [run_id, run] : state.open_runs()) {
    nlohmann::json fields = fields_of(run.remains, run.since);
    fields["since"] = fields["time"];
    fields.erase("time");
    open_runs.push_back(std::move(fields));
  }
  const Spending spent = spending_of(state.charges(), Adjacency::kAddRemove);
  nlohmann::json whole{{"releases", releases},
                       {"runs", runs_of(state, delta)},
                       {"mu", spent.mu},
                       {"rho", rho_of(spent)},
                       {"open_runs", open_runs}};
  if (!spent.samples.empty()) {
    whole["epsilon"] = epsilon_of(spent, delta);
    whole["delta"] = delta;
  }
  return whole;
}

}  // namespace dpreduce
