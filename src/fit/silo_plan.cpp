#include "fit/silo_plan.hpp"

#include <utility>

#include "common/ranks/silo_job.hpp"
#include "common/silos/payload_archive.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

// All that decides on the noise of a run. With shares also what a silo adds, and the guarantee by those of the silos
// that must stay.
struct DecidedNoise {
  std::string config;
  std::vector<std::string> models;  // also of those that the configuration does not name
  Accountant accountant = Accountant::kGdp;
  PrivacyUnit unit = PrivacyUnit::kRecord;
  std::optional<double> epsilon;
  std::optional<double> delta;
  bool is_private = false;
  std::optional<NoisePlan> whole;
  std::optional<NoisePlan> of_silo;
  std::optional<NoisePlan> guaranteed;
};

DPREDUCE_ARCHIVE(DecidedNoise, config, models, accountant, unit, epsilon, delta, is_private, whole, of_silo, guaranteed)

// Plan with the noise of one silo in place of the whole.
NoisePlan plan_of_share(NoisePlan plan, const NoiseShares& shares) {
  for (PlannedRelease& release : plan.releases) {
    for (PlannedBlock& block : release.blocks) block = shares.share_of(std::move(block));
  }
  return plan;
}

}  // namespace

std::optional<NoiseShares> shares_of_silos(const FitOptions& options, const SiloTerms& silos) {
  if (!options.silos.is_distributed()) return std::nullopt;
  return NoiseShares{silos.honest_shares()};
}

std::optional<NoiseShares> shares_of_silos(const FitOptions& options, const Communicator& ranks) {
  if (ranks.silos() == nullptr) return std::nullopt;
  return shares_of_silos(options, ranks.silos()->terms());
}

PublicKey noise_plan_digest(const ResolvedFit& fit, const std::optional<NoiseShares>& shares) {
  const RunTerms terms = fit.terms();
  DecidedNoise decided{.config = fit.plan().config,
                       .models = digests_of_models(fit.options().evaluation),
                       .accountant = terms.accountant,
                       .unit = terms.unit,
                       .epsilon = terms.epsilon,
                       .delta = terms.delta,
                       .is_private = fit.plan().is_private,
                       .whole = fit.plan().noise,
                       .of_silo = std::nullopt,
                       .guaranteed = std::nullopt};
  if (decided.whole && shares) {
    decided.of_silo = plan_of_share(*decided.whole, *shares);
    decided.guaranteed = shares->guaranteed(*decided.whole);
  }
  return sha256(message_of("noise plan", decided));
}

void agree_on_noise(const ResolvedFit& fit, Communicator& ranks) {
  if (ranks.silos() == nullptr) return;
  ranks.silos()->agree_on_plan(noise_plan_digest(fit, shares_of_silos(fit.options(), ranks)));
}

}  // namespace dpreduce
