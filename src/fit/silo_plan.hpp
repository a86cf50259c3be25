// Plan that a party of a run among silos makes of its options by itself, and compares with the others before anybody
// masks: the whole noise.
#pragma once

#include <optional>

#include "aggregator/release/noise_shares.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/ranks/communicator.hpp"
#include "common/silos/handshake.hpp"
#include "fit/resolved_fit.hpp"

namespace dpreduce {

/// Shares of the noise by silos; nullopt where the coordinator adds it, and in a job without silos.
std::optional<NoiseShares> shares_of_silos(const FitOptions& options, const SiloTerms& silos);
std::optional<NoiseShares> shares_of_silos(const FitOptions& options, const Communicator& ranks);

/// SHA-256 of all that decides on noise, in one form: configuration, budget, unit, adjacency; of every block elements,
/// sensitivity, sigma, share of it and mu; of every selection its terms; and, with shares, what those of t - c silos
/// guarantee. Doubles count to the last bit. Plans are computed in high precision, so that processors do not differ in
/// them; under the zCDP and RDP accountants they rest on the logarithms of the C library, which parties must share.
PublicKey noise_plan_digest(const ResolvedFit& fit, const std::optional<NoiseShares>& shares);

/// Among silos, returns once all parties that are left have made the same plan (SiloJob::agree_on_plan). Does nothing
/// in other jobs. Collective.
void agree_on_noise(const ResolvedFit& fit, Communicator& ranks);

}  // namespace dpreduce
