// Ledger for its readers: its runs, and what they have spent one after the other, as JSON and as sections.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

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

/// Default delta at which epsilons are reported: the delta that the runs declare. If runs declare several, it is the
/// least, which states no less about any of them. If no run declares one, it is kReportedDelta.
double reported_delta(const LedgerState& state);

/// Output of `ledger show --format json`: {"releases", "adjacency", "runs", "mu", "rho", "deltas_of_runs",
/// "open_runs"}, with sampled rounds also "epsilon" and "delta". Runs are in the order of their first charges. Each run
/// has its own spending, and the total spending up to and including it ("so_far"), as if all runs were about the same
/// records. Epsilons are reported at `delta`, by default reported_delta. Sums hold for neighbors by `adjacency`, by
/// default strictest_adjacency (spending.hpp).
nlohmann::json json_of_ledger(const LedgerState& state, std::optional<double> delta = std::nullopt,
                              std::optional<Adjacency> adjacency = std::nullopt);

/// Sections of a ledger. The first is the spending of all runs, as facts, for neighbors by `adjacency` and at `delta`
/// (defaults as of json_of_ledger); then follow its growth run by run, open runs, and the releases of each run.
std::vector<Section> ledger_sections(const LedgerState& state, std::optional<double> delta = std::nullopt,
                                     std::optional<Adjacency> adjacency = std::nullopt);

/// Releases and selections that a run has reserved and not charged.
Table remains_table(std::string caption, const Reservation& remains);

/// Terms of a run among silos in words. On the coordinator's ledger: the terms of the run. On a silo's own ledger: the
/// parties against whom its charge holds.
std::string silos_text(const LedgerSilos& silos);

}  // namespace dpreduce
