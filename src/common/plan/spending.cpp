#include "common/plan/spending.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <variant>

#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/accounting/privacy_loss.hpp"
#include "common/base/floating_point.hpp"

namespace dpreduce {
namespace {

double pure_epsilon(const Mechanism& selection) {
  if (const auto* exponential = std::get_if<ExponentialMechanism>(&selection)) return exponential->epsilon;
  return std::get<PureMechanism>(selection).epsilon;
}

const SubsampledGaussian& sampled(const RepeatedMechanism& rounds) {
  return std::get<SubsampledGaussian>(rounds.mechanism);
}

// Equal ones counted together, in one order.
std::vector<RepeatedMechanism> merged(std::vector<RepeatedMechanism> samples) {
  const auto key = [](const RepeatedMechanism& rounds) {
    const SubsampledGaussian& round = sampled(rounds);
    return std::tuple(round.sampling_rate, round.noise_multiplier, round.is_exchange);
  };
  std::sort(samples.begin(), samples.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<RepeatedMechanism> result;
  for (const RepeatedMechanism& rounds : samples) {
    if (!result.empty() && key(result.back()) == key(rounds)) {
      result.back().count += rounds.count;
    } else {
      result.push_back(rounds);
    }
  }
  return result;
}

}  // namespace

double accounted_noise_multiplier(double mu) {
  const double most = 1 / mu;
  if (most >= kLargestNoiseMultiplier) return kLargestNoiseMultiplier;
  const auto rounded = static_cast<float>(most);
  return rounded < most ? rounded : std::nextafter(rounded, 0.0F);
}

RepeatedMechanism sampled_rounds(double mu, double sampling_rate, std::uint64_t rounds, Adjacency charged,
                                 Adjacency question) {
  const double mu_of_record = charged == Adjacency::kReplaceOne ? mu / 2 : mu;
  return {
      SubsampledGaussian{accounted_noise_multiplier(mu_of_record), sampling_rate, question == Adjacency::kReplaceOne},
      rounds};
}

Spending spending_of(const NoisePlan& plan) {
  Spending planned;
  planned.mu = plan.mu;
  for (const PlannedRelease& release : plan.releases) {
    if (!release.is_sampled()) continue;
    planned.samples.push_back(sampled_rounds(mu_of_rounds(release, 1), release.sampling_rate, release.rounds,
                                             plan.adjacency, plan.adjacency));
  }
  for (const PlannedSelection& selection : plan.selections) planned.selections.push_back({loss_of(selection.terms), 1});
  return planned;
}

Spending composed(const Spending& one, const Spending& other) {
  Spending both = one;
  both.mu = gdp_compose(std::array{one.mu, other.mu});
  both.selections.insert(both.selections.end(), other.selections.begin(), other.selections.end());
  both.samples.insert(both.samples.end(), other.samples.begin(), other.samples.end());
  return both;
}

double epsilon_of(const Spending& spending, double delta) {
  if (spending.is_gaussian()) {
    if (spending.mu == 0) return 0;
    return spending.mu <= kLargestMu ? gdp_epsilon(spending.mu, delta) : kInfinity;
  }
  std::vector<RepeatedMechanism> run = spending.selections;
  for (const RepeatedMechanism& selection : run) {
    if (pure_epsilon(selection.mechanism) > kLargestPureEpsilon) return kInfinity;
  }
  for (const RepeatedMechanism& rounds : merged(spending.samples)) {
    if (sampled(rounds).noise_multiplier < kSmallestNoiseMultiplier) return kInfinity;
    run.push_back(rounds);
  }
  if (spending.mu > 0) {
    const double z = accounted_noise_multiplier(spending.mu);
    if (z < kSmallestNoiseMultiplier) return kInfinity;
    run.push_back({GaussianMechanism{z}, 1});
  }
  return pld_epsilon_upper(run, delta);
}

double rho_of(const Spending& spending) {
  HighPrecision total = HighPrecision(spending.mu) * spending.mu / 2;
  for (const RepeatedMechanism& selection : spending.selections) {
    const HighPrecision epsilon(pure_epsilon(selection.mechanism));
    const int divisor = std::holds_alternative<ExponentialMechanism>(selection.mechanism) ? 8 : 2;
    total += epsilon * epsilon / divisor * selection.count;
  }
  for (const RepeatedMechanism& rounds : spending.samples) {
    const HighPrecision z(sampled(rounds).noise_multiplier);
    total += (sampled(rounds).is_exchange ? 4 : 1) * HighPrecision(rounds.count) / (2 * z * z);
  }
  return round_up(total * (1 + kArithmeticError));
}

double mu_of(const Spending& spending) {
  constexpr double kAboveRoot = 1 + 1e-15;  // more than the rounding of a root
  return spending.is_gaussian() ? spending.mu : kAboveRoot * std::sqrt(2 * rho_of(spending));
}

}  // namespace dpreduce
