// Account of a fit's releases: the ledger that the releases are charged to and the run file that saves them, both
// opened before a row is read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/release/charged_run.hpp"
#include "common/base/output_file.hpp"
#include "common/ledger/run_file.hpp"
#include "common/ranks/communicator.hpp"
#include "fit/resolved_fit.hpp"

namespace dpreduce {

/// Place where the account of a fit's spending is kept.
enum class Accounts {
  kLedger,    ///< the ledger that the options name, with its limit
  kElsewhere  ///< the caller, by FittedRun::fit->plan(), before it shows the result; no ledger is kept
};

/// Account of a fit. Every rank has one; the coordinator uses it, and so do silos that keep their own ledgers.
struct FitAccount {
  Charging charging;
  RunFile file{};
  bool goes_on = false;                     ///< resumes a run that has charged something; at the coordinator
  std::vector<std::string> notes{};         ///< sentences on what earlier runs have left behind; at the coordinator
  std::unique_ptr<PrivateFolder> folder{};  ///< folder of a ledger that is dropped with the account
};

/// Opens the ledger of --ledger with a run file beside it. With --resume opens the file of the dead run of this ledger
/// and configuration, if there is one. If accounts are kept elsewhere, opens a ledger that is deleted with the account,
/// and expects no budget limit (asserted). Returns nullopt if nothing is charged. Journals of earlier versions are
/// removed, and their runs given up. Collective. Throws UsageError if --resume requests a run whose releases are not
/// saved: a run with --seed, a run without a guarantee, or fedavg. Throws BadInput if something cannot be read or
/// written; LedgerCorrupt; and as RunFile and PrivateFolder.
std::optional<FitAccount> open_account(const ResolvedFit& fit, Communicator& ranks,
                                       Accounts accounts = Accounts::kLedger);

}  // namespace dpreduce
