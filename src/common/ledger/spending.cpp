#include "common/ledger/spending.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

#include "common/accounting/calibration.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/accounting/privacy_loss.hpp"
#include "common/base/error.hpp"
#include "common/base/floating_point.hpp"

namespace dpreduce {
namespace {

double pure_epsilon(const Mechanism& selection) {
  if (const auto* exponential = std::get_if<ExponentialMechanism>(&selection)) return exponential->epsilon;
  return std::get<PureMechanism>(selection).epsilon;
}

const GaussianMechanism& sampled(const RepeatedMechanism& rounds) {
  return std::get<GaussianMechanism>(rounds.mechanism);
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
      GaussianMechanism{accounted_noise_multiplier(mu_of_record), sampling_rate, question == Adjacency::kReplaceOne},
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
  // Equal rounds are counted together, in one order.
  std::map<std::tuple<std::optional<double>, double, bool>, std::uint64_t> counts;
  for (const RepeatedMechanism& rounds : spending.samples) {
    const auto& [z, sampling_rate, is_exchange] = sampled(rounds);
    if (z < kSmallestNoiseMultiplier) return kInfinity;
    counts[{sampling_rate, z, is_exchange}] += rounds.count;
  }
  for (const auto& [round, count] : counts) {
    const auto& [sampling_rate, z, is_exchange] = round;
    run.push_back({GaussianMechanism{z, sampling_rate, is_exchange}, count});
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

namespace {

// Less than half a step of 24 binary digits: noise for z (1 + this) is counted as z, however its mu was rounded.
constexpr double kAboveAccounted = 1e-8;

bool is_sampled(const ReleaseRequest& request) {
  return request.sampling_rate < 1;
}

// Rules of options refuse all else (fit_rules.cpp).
void check(const BudgetOptions& budget, Adjacency adjacency, const std::vector<ReleaseRequest>& releases) {
  DPREDUCE_ASSERT(budget.epsilon.has_value());
  DPREDUCE_ASSERT(budget.accountant == Accountant::kPld ||
                  (budget.accountant == Accountant::kRdp && adjacency == Adjacency::kAddRemove));
  DPREDUCE_ASSERT(std::ranges::count_if(releases, is_sampled) == 1);
  for (const ReleaseRequest& request : releases) DPREDUCE_ASSERT(request.share > 0 && std::isfinite(request.share));
}

// The sampled release, as noise_plan.hpp would plan it for rounds that see all rows with this z.
PlannedRelease planned_with(double z, Adjacency adjacency, ReleaseRequest request) {
  const double rate = std::exchange(request.sampling_rate, 1.0);
  const double changes = adjacency == Adjacency::kReplaceOne ? 2 : 1;
  const double mu = changes * std::sqrt(static_cast<double>(request.rounds)) / z;
  PlannedRelease release = make_noise_plan(mu, adjacency, {std::move(request)}).releases[0];
  release.sampling_rate = rate;
  return release;
}

// z rounded up to 24 binary digits.
double rounded_up(double z) {
  const auto rounded = static_cast<float>(z);
  return rounded >= z ? rounded : std::nextafter(rounded, std::numeric_limits<float>::infinity());
}

}  // namespace

NoisePlan make_sampled_noise_plan(const BudgetOptions& budget, Adjacency adjacency,
                                  std::vector<ReleaseRequest> releases) {
  const double budget_mu = mu_of(budget);
  check(budget, adjacency, releases);
  const auto sampled = std::find_if(releases.begin(), releases.end(), is_sampled);
  const auto place = sampled - releases.begin();
  const ReleaseRequest request = *sampled;
  double all_shares = 0;
  for (const ReleaseRequest& release : releases) all_shares += release.share;
  releases.erase(sampled);

  CalibrationTarget target{.epsilon = *budget.epsilon,
                           .delta = *budget.delta,
                           .steps = request.rounds,
                           .sampling_rate = request.sampling_rate,
                           .is_exchange = adjacency == Adjacency::kReplaceOne};
  NoisePlan plan{.adjacency = adjacency};
  if (!releases.empty()) {
    const double plain_share = 1 - request.share / all_shares;
    plan = make_noise_plan(budget_mu * std::sqrt(plain_share), adjacency, std::move(releases));
    target.beside.push_back({GaussianMechanism{accounted_noise_multiplier(plan.mu)}, 1});
  }
  plan.budget_mu = budget_mu;
  double z = rounded_up(calibrated_noise_multiplier(target, budget.accountant));
  plan.releases.insert(plan.releases.begin() + place, planned_with(z * (1 + kAboveAccounted), adjacency, request));
  // An accountant's bound is checked at its own z; what a ledger counts, at the one that rounding left.
  while (epsilon_of(spending_of(plan), target.delta) > target.epsilon) {
    z = rounded_up(z * (1 + 1e-7));
    plan.releases[static_cast<std::size_t>(place)] = planned_with(z * (1 + kAboveAccounted), adjacency, request);
  }
  return plan;
}

}  // namespace dpreduce
