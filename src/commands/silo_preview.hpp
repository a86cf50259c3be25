// A silo's look at a run before it takes part: the plan by its roster, its owner's consent, and both in words.
#pragma once

#include <cstdint>

#include "common/ranks/communicator.hpp"
#include "methods/fit_options.hpp"

namespace dpreduce {

/// Throws UsageError where the options request a run among silos and this is none.
void require_silos(const FitOptions& options, const Communicator& ranks);

/// Compares the run with the consent of the silo's owner, before a file of rows is opened. A silo that refuses reports
/// that to the others, and no more. Throws as require_met.
void require_consent(const FitOptions& options, Communicator& ranks);

/// Throws BadInput where the options are not of the roster's classes. (open_ranked_rows compares features.)
void require_on_roster(const FitOptions& options, const Communicator& ranks);

/// Prints the preview for the silo whose options these are, whose identity must be the roster's:
/// what the silo would send and promise, to whom, what its owner allows. Connects to nobody, and opens no file of rows;
/// where prototypes are chosen among public rows, these are counted. Throws UsageError without a roster; BadInput as
/// load_identity and read_roster, and where the roster has another number of classes; LedgerCorrupt; as ResolvedFit;
/// and, once all is printed, as require_met where the run would be refused, and as Ledger::check where its budget has
/// no room.
void preview_silo(const FitOptions& options, std::uint32_t silo);

}  // namespace dpreduce
