// Plan of the noise that each party of a run among silos makes from its options by itself, and compares with the other
// parties before any party masks.
#pragma once

#include <optional>

#include "aggregator/release/noise_shares.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/ranks/communicator.hpp"
#include "common/silos/handshake.hpp"
#include "fit/resolved_fit.hpp"

namespace dpreduce {

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

}  // namespace dpreduce
