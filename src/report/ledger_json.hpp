// Runs of a ledger, what they have spent one after the other, and the ledger as JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/accounting/budget.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/ledger/ledger_state.hpp"

namespace dpreduce {

/// Charges of one run, in their order.
struct ChargesOfRun {
  std::string run;
  std::vector<LedgerCharge> charges;
};

/// All charges by run, in the order of the runs' first charges; charges of simultaneous runs alternate in the ledger.
std::vector<ChargesOfRun> charges_by_run(const LedgerState& state);

/// Largest number of runs, the last of a ledger, that get a privacy loss distribution: each takes time, so that earlier
/// runs get none.
inline constexpr std::size_t kMostDistributions = 100;

/// Deltas that private runs declare, ascending, each once.
std::vector<double> deltas_of_runs(const LedgerState& state);

/// Default delta at which epsilons are reported: the delta that the runs declare. If runs declare several, it is the
/// least, which states no less about any of them. If no run declares one, it is kReportedDelta.
double reported_delta(const LedgerState& state);

/// Spending of a run and of all before it together, as if about the same records.
struct SpentSoFar {
  double mu;
  double rho;
  std::optional<double> epsilon;  ///< absent if none is finite, and of earlier runs than kMostDistributions
};

/// One for each run, for neighbors by `adjacency`.
std::vector<SpentSoFar> spent_run_by_run(const std::vector<ChargesOfRun>& runs, double delta, Adjacency adjacency);

/// Output of `ledger show --format json`: {"releases", "adjacency", "runs", "mu", "rho", "deltas_of_runs",
/// "open_runs"}, with sampled rounds also "epsilon" and "delta". Runs are in the order of their first charges. Each run
/// has its own spending, and the total spending up to and including it ("so_far"), as if all runs were about the same
/// records. Epsilons are reported at `delta`, by default reported_delta. Sums hold for neighbors by `adjacency`, by
/// default strictest_adjacency (data_set_budget.hpp).
nlohmann::json json_of_ledger(const LedgerState& state, std::optional<double> delta = std::nullopt,
                              std::optional<Adjacency> adjacency = std::nullopt);

/// Terms of a run among silos in words. On the coordinator's ledger: the terms of the run. On a silo's own ledger: the
/// parties against whom its charge holds.
std::string silos_text(const LedgerSilos& silos);

}  // namespace dpreduce
