// Comparison of the consent of a silo's owner with the plan that the silo has made by itself, and never with text that
// other parties sent.
//
//     mu of a run      cost of the run's releases to this silo's records: for a plan of Gaussians their mu, for a plan
//                      with selections sqrt(2 rho); under distributed noise the cost that t - c shares guarantee
//     mu in all        the same of the run, of all charges on the silo's ledger, and of what open runs may still charge
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/ledger/ledger_state.hpp"
#include "common/silos/handshake.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/silo_options.hpp"

namespace dpreduce {

/// Term of a consent, under its key in [consent], with the requested and the allowed value.
struct ConsentTerm {
  std::string name;
  std::string asked;
  std::string allowed;
  bool is_met = false;
  bool is_budget = false;  ///< whether the term is about the cost of the run
};

/// Reservation of a run of these silos on the ledger of one of them, without an id. Precondition: the plan has noise.
Reservation reservation_at_silo(const ResolvedFit& fit, const SiloTerms& silos);

/// Returns the terms of the consent, and the term that the run is private, in the order of the table. `ledger` is the
/// silo's own.
std::vector<ConsentTerm> compared_terms(const SiloConsent& consent, const ResolvedFit& fit, const SiloTerms& silos,
                                        const LedgerState& ledger);

/// Returns if all terms are met. Otherwise throws, naming each unmet term with its requested and its allowed value:
/// BudgetRefused if all unmet terms are about costs, UsageError otherwise.
void require_met(std::span<const ConsentTerm> terms);

}  // namespace dpreduce
