// What a call of fit() may ask for, and that the ranks of a job make the same one.
#pragma once

#include "common/ranks/communicator.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

/// Where the account of what a fit spends is kept.
enum class Accounts {
  kLedger,    ///< the ledger that the options name, with its limit
  kElsewhere  ///< the caller, by FittedRun::fit->plan(), before it shows anybody the result; no ledger is left
};

/// `options`, validated, for a fit that is called rather than started by the command. Throws UsageError where they name
/// no training rows, no ledger that a fit with noise could be charged on, want something of an account kept elsewhere,
/// a dry run, or silos; as validated.
FitOptions checked_call(FitOptions options, const Communicator& ranks, Accounts accounts);

/// Noise is made for what rank 0 was asked for: a rank that clipped its rows by another norm would be covered by none.
/// Returns where every rank has the same options and the same `accounts`; but for those of its machine, test rows and
/// the paths of ledger and outputs, which serve at the coordinator. Collective; not among silos, which compare digests.
/// Throws UsageError where this rank's are not those of rank 0, PeerFailed elsewhere.
void require_one_call(const FitOptions& options, Accounts accounts, Communicator& ranks);

}  // namespace dpreduce
