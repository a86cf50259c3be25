// Account of a fit's releases: the ledger that they are charged to and the run file that saves them, opened before a
// row is read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "aggregator/release/release.hpp"
#include "common/base/output_file.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/fit_options.hpp"
#include "methods/fit_plan.hpp"

namespace dpreduce {

/// Account of a fit. Every rank has one; it is used on the coordinator, and at silos that keep ledgers of their own.
struct FitAccount {
  Charging charging;
  RunFile file{};
  bool goes_on = false;                     ///< from a run that has charged something; at the coordinator
  std::vector<std::string> notes{};         ///< sentences on what earlier runs have left; at the coordinator
  LedgerHead begins_at{};                   ///< where the ledger stood; at the coordinator
  std::unique_ptr<PrivateFolder> folder{};  ///< of a ledger that is dropped with the account
};

/// Opens the ledger of --ledger with a run file beside it; with --resume the file of the dead run of this ledger and
/// configuration, where there is one. Returns nullopt where nothing is charged. Journals of earlier versions are
/// removed, and their runs given up. Collective. Throws UsageError where --resume wants a run whose releases are not
/// saved: of the seed's, of one that promises nothing, of fedavg; BadInput where something cannot be read or written;
/// LedgerCorrupt; what RunFile throws.
std::optional<FitAccount> open_account(const ResolvedFit& fit, Communicator& ranks);

/// Opens a ledger that is gone with the account: for those who keep accounts elsewhere. Returns nullopt where nothing
/// is charged. Collective. Throws as PrivateFolder.
std::optional<FitAccount> open_own_account(const ResolvedFit& fit, Communicator& ranks);

/// Returns a flat object: method, its settings and the preprocessing; budget, accountant and every block's noise; this
/// version. It has no number of ranks, threads or rows, and no path. A run file has its digest: only a run with the
/// same one goes on with it. `options` are resolved. Precondition: the plan has noise.
nlohmann::json run_binding(const FitOptions& options, const FitPlan& plan);

}  // namespace dpreduce
