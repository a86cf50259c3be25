// The ranks of a job make one fit.
#pragma once

#include "common/ranks/communicator.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

/// Noise is made for what rank 0 was asked for: a rank that clipped its rows by another norm would be covered by none.
/// Returns where every rank has the same options and the same `accounts`; but for those of its machine, test rows and
/// the paths of ledger and outputs, which serve at the coordinator. Collective; not among silos, which compare digests.
/// Throws UsageError where this rank's are not those of rank 0, PeerFailed elsewhere.
void require_one_call(const FitOptions& options, int accounts, Communicator& ranks);

}  // namespace dpreduce
