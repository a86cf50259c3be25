// Comparison of the consent of a silo's owner with the plan that the silo has made by itself, and never with text that
// other parties sent.
//
//     mu of a run      cost of the run's releases to this silo's records: for a plan of Gaussians their mu, for a plan
//                      with selections sqrt(2 rho); under distributed noise the cost that t - c shares guarantee
//     mu in all        the same of the run, of all charges on the silo's ledger, and of what open runs may still charge
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregator/release/block_noise.hpp"
#include "common/ledger/ledger_record.hpp"
#include "common/ledger/ledger_state.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/ranks/communicator.hpp"
#include "common/silos/handshake.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/fit_options.hpp"

namespace dpreduce {

// Plan of the noise that each party of a run among silos makes from its options by itself, and compares with the other
// parties before any party masks.

/// Shares of the noise by silos; nullopt if the coordinator adds the noise, and in a job without silos.
std::optional<NoiseShares> shares_of_silos(const FitOptions& options, const SiloTerms& silos);
std::optional<NoiseShares> shares_of_silos(const FitOptions& options, const Communicator& ranks);

/// SHA-256 of everything that decides on noise, in one form: configuration, budget, unit, adjacency; for every block
/// its elements, sensitivity, sigma, share of sigma and mu; for every selection its terms; and, with shares, the
/// guarantee of those of t - c silos. Doubles count to the last bit. Plans are computed in high precision, so that
/// processors do not differ in them. Under the zCDP and RDP accountants plans rest on the logarithms of the C library,
/// which parties must share.
PublicKey noise_plan_digest(const ResolvedFit& fit, const std::optional<NoiseShares>& shares);

/// Among silos, returns once all remaining parties have made the same plan (SiloJob::agree_on_plan). Does nothing in
/// other jobs. Collective.
void agree_on_noise(const ResolvedFit& fit, Communicator& ranks);

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
