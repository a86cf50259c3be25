// Preview of a silo before it trusts a run: its plan by the roster, its owner's consent, and both in words.
#pragma once

#include <cstdint>
#include <vector>

#include "common/silos/handshake.hpp"
#include "common/silos/parties.hpp"
#include "fit/resolved_fit.hpp"
#include "fit/silo_terms.hpp"
#include "methods/fit_options.hpp"

namespace dpreduce {

/// Throws BadInput where the roster has another number of classes than --classes, or of targets than rows have.
void require_classes_of_roster(const FitOptions& options, const Roster& roster);

/// Returns the fit for rows as the roster describes them. No file of rows is opened; where prototypes are chosen among
/// public rows, these are counted. `options` are a party's, validated. Throws as ResolvedFit.
ResolvedFit fit_on_roster(FitOptions options, const Roster& roster);

/// Terms of the silo's consent, compared with that fit and its own ledger; none where it has no consent. Throws as
/// fit_on_roster, and LedgerCorrupt.
std::vector<ConsentTerm> terms_of_silo(const FitOptions& options, const ResolvedFit& fit, const SiloTerms& silos);

/// Prints the preview for the silo whose options these are (command_of_party), whose identity must be the roster's:
/// what the silo would send and promise, to whom, what its owner allows. Connects to nobody. Throws UsageError without
/// a roster; BadInput as Identity::load and read_roster; as terms_of_silo; and, once all is printed, as require_met
/// where the run would be refused, and as Ledger::check where its budget has no room.
void preview_silo(const FitOptions& options, std::uint32_t silo);

}  // namespace dpreduce
