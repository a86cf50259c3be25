#include "aggregator/release/noise_shares.hpp"

#include <vector>

#include "common/accounting/high_precision.hpp"

namespace dpreduce {
namespace {

// Below the rounding of share_sigma, so that the share of a guaranteed sigma is that share again.
constexpr double kBelowRounding = 1.0 - 8.0 * std::numeric_limits<double>::epsilon();

}  // namespace

NoisePlan NoiseShares::guaranteed(NoisePlan plan) const {
  HighPrecision squared_mu = 0;
  for (PlannedRelease& release : plan.releases) {
    std::vector<double> sigmas;
    for (PlannedBlock& block : release.blocks) {
      const double together = std::sqrt(static_cast<double>(honest)) * share_sigma(block.sigma, block.noise);
      if (together * kBelowRounding > block.sigma) {
        block.sigma = together * kBelowRounding;
        block.mu = round_up(release.rows_per_unit * sqrt(HighPrecision(block.squared_sensitivity)) / block.sigma);
      }
      sigmas.push_back(block.sigma);
    }
    release.mu = realized_mu(sigmas, release.profiles, release.rounds, release.rows_per_unit);
    squared_mu += HighPrecision(release.mu) * release.mu;
  }
  plan.mu = round_up(sqrt(squared_mu));
  return plan;
}

}  // namespace dpreduce
