#include "fit/silo_plan.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"
#include "common/base/version.hpp"
#include "common/ranks/silo_job.hpp"

namespace dpreduce {
namespace {

using nlohmann::json;

json json_of(const PlannedBlock& block) {
  return {block.name,
          block.elements,
          block.squared_sensitivity,
          block.sensitivity,
          block.sigma,
          block.mu,
          block.noise == BlockNoise::kSymmetric,
          block.triangles,
          block.fraction_bits};
}

json json_of(const PlannedRelease& release) {
  json blocks = json::array();
  for (const PlannedBlock& block : release.blocks) blocks.push_back(json_of(block));
  json profiles = json::array();
  for (const SensitivityProfile& profile : release.profiles) profiles.push_back({profile.change, profile.squared_l2});
  return {release.name, release.rounds,    release.rows_per_unit, release.sampling_rate,
          release.mu,   std::move(blocks), std::move(profiles)};
}

json json_of(const NoisePlan& plan) {
  json releases = json::array();
  for (const PlannedRelease& release : plan.releases) releases.push_back(json_of(release));
  json selections = json::array();
  for (const PlannedSelection& selection : plan.selections) {
    const SelectionTerms& terms = selection.terms;
    selections.push_back({selection.name, to_string(terms.mechanism), terms.epsilon, terms.sensitivity,
                          terms.candidates, terms.groups, terms.chosen, selection.fraction_bits});
  }
  return {to_string(plan.adjacency), plan.budget_mu, plan.mu, std::move(releases), std::move(selections)};
}

// The plan with the noise of one silo in the place of the whole.
NoisePlan plan_of_share(NoisePlan plan, const NoiseShares& shares) {
  for (PlannedRelease& release : plan.releases) {
    for (PlannedBlock& block : release.blocks) block = shares.share_of(std::move(block));
  }
  return plan;
}

json optional_number(const std::optional<double>& value) {
  return value ? json(*value) : json();
}

}  // namespace

std::optional<NoiseShares> shares_of_silos(const FitOptions& options, const Communicator& ranks) {
  if (ranks.silos() == nullptr || !options.silos.is_distributed()) return std::nullopt;
  return NoiseShares{ranks.silos()->terms().honest_shares()};
}

PublicKey noise_plan_digest(const ResolvedFit& fit, const std::optional<NoiseShares>& shares) {
  const RunTerms terms = fit.terms();
  json text{{"domain", "dpreduce noise plan v1"},
            {"version", version()},
            {"config", fit.plan().config},
            {"method", terms.method},
            {"accountant", to_string(terms.accountant)},
            {"unit", to_string(terms.unit)},
            {"epsilon", optional_number(terms.epsilon)},
            {"delta", optional_number(terms.delta)},
            {"private", fit.plan().is_private},
            {"whole", nullptr},
            {"shares", nullptr}};
  if (const std::optional<NoisePlan>& noise = fit.plan().noise) {
    text["whole"] = json_of(*noise);
    if (shares) {
      text["shares"] = {shares->honest, json_of(plan_of_share(*noise, *shares)), json_of(shares->guaranteed(*noise))};
    }
  }
  return sha256(json_text(text));
}

void agree_on_noise(const ResolvedFit& fit, Communicator& ranks) {
  if (ranks.silos() == nullptr) return;
  ranks.silos()->agree_on_plan(noise_plan_digest(fit, shares_of_silos(fit.options(), ranks)));
}

}  // namespace dpreduce
