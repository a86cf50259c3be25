// A ledger for its readers: in words, as JSON, and as events of another accounting library.
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

/// The charges of one run, in their order.
struct ChargesOfRun {
  std::string run;
  std::vector<LedgerCharge> charges;
};

/// All charges by run, in the order of the runs' first ones; runs at the same time write in turn.
std::vector<ChargesOfRun> charges_by_run(const LedgerState& state);

/// Number of the last runs of a ledger that get a distribution of losses: it takes time, so that earlier runs get none.
inline constexpr std::size_t kMostDistributions = 100;

/// Deltas that private runs declare, in ascending order, each once.
std::vector<double> deltas_of_runs(const LedgerState& state);

/// Delta that epsilons are reported at where no other is requested: the delta of the runs. Where runs declare several,
/// it is the least, which says no less of any of them. Where none declares one, it is kReportedDelta.
double reported_delta(const LedgerState& state);

/// Output of ledger show --format json: {"releases", "adjacency", "runs", "mu", "rho", "deltas_of_runs", "open_runs"},
/// with sampled rounds also "epsilon" and "delta". Runs are in the order of their first charges. Each has the spending
/// of it and of all before it together ("so_far"), as if all were about the same records. Epsilons are reported at
/// `delta`, by default reported_delta; sums for neighbors by `adjacency`, by default strictest_adjacency
/// (data_set_budget.hpp).
nlohmann::json json_of_ledger(const LedgerState& state, std::optional<double> delta = std::nullopt,
                              std::optional<Adjacency> adjacency = std::nullopt);

/// Terms of a run among silos in words: on the coordinator's ledger those of the run, on a silo's own ledger against
/// whom its charge holds.
std::string silos_text(const LedgerSilos& silos);

/// Returns what ledger show prints: a paragraph for each run, rounds that are alike in one line. Then come the spending
/// of all runs together for neighbors by `adjacency`, in epsilon at `delta` (defaults as of json_of_ledger), and what
/// open runs may still charge.
std::string ledger_text(const LedgerState& state, std::optional<double> delta = std::nullopt,
                        std::optional<Adjacency> adjacency = std::nullopt);

/// Releases and selections that a run has reserved and not charged.
Table remains_table(std::string caption, const Reservation& remains);

}  // namespace dpreduce
