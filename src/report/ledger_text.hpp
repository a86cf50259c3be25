// Ledger for its readers: in words, as JSON, and as events of another accounting library.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/accounting/budget.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/ledger/ledger_state.hpp"
#include "report/sections.hpp"

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

/// Output of `ledger show`: a paragraph for each run, with rounds that are alike in one line. Then follow the total
/// spending of all runs for neighbors by `adjacency`, in epsilon at `delta` (defaults as of json_of_ledger), and the
/// amounts that open runs may still charge.
std::string ledger_text(const LedgerState& state, std::optional<double> delta = std::nullopt,
                        std::optional<Adjacency> adjacency = std::nullopt);

/// Releases and selections that a run has reserved and not charged.
Table remains_table(std::string caption, const Reservation& remains);

}  // namespace dpreduce
