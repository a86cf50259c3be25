// Where a fit's releases are charged, and what repeats them: ledger, journal and checkpoint, opened before a row is
// read.
#pragma once

#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "aggregator/release/release.hpp"
#include "common/files/private_folder.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/options/fit_options.hpp"
#include "run/fit_plan.hpp"
#include "run/release_log.hpp"

namespace dpreduce {

/// Every rank has one; it is used on the coordinator, and at silos that keep ledgers of their own.
struct FitAccount {
  Charging charging;
  RunJournal journal;                       ///< its secret decides all noise
  bool is_recorded = false;                 ///< whether there is a checkpoint; the same on every rank
  std::unique_ptr<ReleaseLog> log{};        ///< that checkpoint; at the coordinator
  std::unique_ptr<PrivateFolder> folder{};  ///< of a ledger that is dropped with the account

  /// Whether a run that has charged something goes on, or one that is finished is written again. At the coordinator.
  bool goes_on() const { return journal.has_ended() || (!journal.is_new() && journal.has_charged()); }
};

/// The secret that the options ask for: from their seed, else new.
NoiseKey new_secret(const FitOptions& options);

/// The ledger of --ledger, a journal beside it, and with --checkpoint the folder of what is released; with --resume
/// those of the killed run, where there is one. None where nothing is charged. Collective. Throws BadInput where one
/// cannot be read or written; LedgerCorrupt; ResumeMismatch where the folder holds another run; what RunJournal throws.
std::optional<FitAccount> open_account(const ResolvedFit& fit, Communicator& ranks);

/// A ledger that is gone with the account, and a journal in memory: for those who keep accounts elsewhere. None where
/// nothing is charged. Collective. Throws as PrivateFolder.
std::optional<FitAccount> open_own_account(const ResolvedFit& fit, Communicator& ranks);

/// A flat object: method, its settings and the preprocessing; budget, accountant and every block's noise; this version;
/// the seed, where there is one. No number of ranks, threads or rows, no path. A checkpoint holds it, a journal its
/// digest: only a run with the same one may go on with them. `options` are resolved. Precondition: the plan has noise.
nlohmann::json run_binding(const FitOptions& options, const FitPlan& plan);

}  // namespace dpreduce
