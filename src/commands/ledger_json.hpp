// A ledger as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/accounting/guarantee.hpp"
#include "common/ledger/ledger_state.hpp"

namespace dpreduce {

/// The charges of one run, in their order.
struct ChargesOfRun {
  std::string run;
  std::vector<LedgerCharge> charges;
};

/// All charges by run, in the order of the runs' first ones; runs at the same time write in turn.
std::vector<ChargesOfRun> charges_by_run(const LedgerState& state);

/// A distribution of losses takes time. Of a ledger with more runs only the last so many are told one.
inline constexpr std::size_t kMostDistributions = 100;

/// What ledger show --format json prints: {"releases", "runs", "mu", "rho", "open_runs"}, with sampled rounds also
/// "epsilon" and "delta". Runs stand in the order of their first charges, each with what it and all before it have
/// spent together ("so_far"), if all were about the same records; epsilons are told at `delta`.
nlohmann::json json_of_ledger(const LedgerState& state, double delta = kDeltaToTell);

}  // namespace dpreduce
