#include "aggregator/release/noise_shares.hpp"

#include <vector>

#include "common/accounting/high_precision.hpp"
#include "common/ranks/silo_job.hpp"

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

double sigma_of_sum(const PlannedBlock& block, const std::optional<NoiseShares>& shares, const Communicator& ranks) {
  if (!shares || !ranks.is_coordinator()) return block.sigma;
  const std::size_t silos = ranks.silos()->coordinator()->last_summed().size();
  return shares->share_sigma(block.sigma, block.noise) * std::sqrt(static_cast<double>(silos));
}

}  // namespace dpreduce
