// The consent of a silo's owner, compared with the plan that the silo has made by itself: never with text that was
// sent.
//
//     mu of a run      what its releases cost this silo's records: of a plan of Gaussians their mu, of one with
//                      selections sqrt(2 rho); under distributed noise what t - c shares guarantee
//     mu in all        the same of the run, of all charges on the silo's ledger, and of what open runs may still charge
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/ledger/ledger_state.hpp"
#include "common/ledger/spending.hpp"
#include "common/silos/handshake.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/silo_options.hpp"

namespace dpreduce {

/// One term of a consent, as keys of [consent] name it.
struct ConsentTerm {
  std::string name;
  std::string asked;
  std::string allowed;
  bool is_met = false;
  bool is_budget = false;  ///< it is about what the run costs
};

/// Reservation of a run of these silos on the ledger of one of them, under no id. Precondition: the plan has noise.
Reservation reservation_at_silo(const ResolvedFit& fit, const SiloTerms& silos);

/// The terms that the consent has, and that the run is private, in the order of the table. `ledger` is the silo's own.
std::vector<ConsentTerm> compared_terms(const SiloConsent& consent, const ResolvedFit& fit, const SiloTerms& silos,
                                        const LedgerState& ledger);

/// Returns where all are met. Else names each that is not, what is asked and what is allowed: throws BudgetRefused
/// where these are all about costs, UsageError otherwise.
void require_met(std::span<const ConsentTerm> terms);

}  // namespace dpreduce
