// A ledger as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/ledger/ledger_state.hpp"

namespace dpreduce {

/// What ledger show --format json prints: {"releases", "runs", "mu", "rho", "open_runs"}, with sampled rounds also
/// "epsilon" and "delta". Runs stand in the order of their first charges, each with what it and all before it have
/// spent together ("so_far"), if all were about the same records.
nlohmann::json json_of_ledger(const LedgerState& state);

}  // namespace dpreduce
