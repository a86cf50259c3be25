#include "common/plan/sampled_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/calibration.hpp"
#include "common/plan/spending.hpp"

namespace dpreduce {
namespace {

// Less than half a step of 24 binary digits: noise for z (1 + this) is counted as z, however its mu was rounded.
constexpr double kAboveAccounted = 1e-8;

bool is_sampled(const ReleaseRequest& request) {
  return request.sampling_rate < 1;
}

void check(const PrivacyBudget& budget, Accountant accountant, Adjacency adjacency,
           const std::vector<ReleaseRequest>& releases) {
  if (!budget.epsilon()) {
    throw UsageError("rounds on samples have no mu and no rho; state the budget as --epsilon and --delta");
  }
  if (accountant != Accountant::kRdp && accountant != Accountant::kPld) {
    throw UsageError("accountant " + std::string(to_string(accountant)) +
                     ": knows no gain from sampling (the loss of a sampled Gaussian is not Gaussian); use pld or rdp");
  }
  if (adjacency == Adjacency::kReplaceOne && accountant != Accountant::kPld) {
    throw UsageError("accountant " + std::string(to_string(accountant)) +
                     ": has no useful bound of an exchange of two records on samples; use pld");
  }
  const auto sampled = std::count_if(releases.begin(), releases.end(), is_sampled);
  if (sampled != 1) {
    throw UsageError(std::to_string(sampled) + " releases are sampled; such a plan needs exactly one");
  }
  for (const ReleaseRequest& request : releases) require_positive("release " + request.name + ": share", request.share);
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

NoisePlan make_sampled_noise_plan(const PrivacyBudget& budget, Accountant accountant, Adjacency adjacency,
                                  std::vector<ReleaseRequest> releases) {
  check(budget, accountant, adjacency, releases);
  const auto sampled = std::find_if(releases.begin(), releases.end(), is_sampled);
  const auto place = sampled - releases.begin();
  const ReleaseRequest request = *sampled;
  double all_shares = 0;
  for (const ReleaseRequest& release : releases) all_shares += release.share;
  releases.erase(sampled);

  CalibrationTarget target{.epsilon = *budget.epsilon(),
                           .delta = *budget.delta(),
                           .steps = request.rounds,
                           .sampling_rate = request.sampling_rate,
                           .is_exchange = adjacency == Adjacency::kReplaceOne};
  NoisePlan plan{.adjacency = adjacency};
  const double budget_mu = budget.mu(accountant);
  if (!releases.empty()) {
    const double plain_share = 1 - request.share / all_shares;
    plan = make_noise_plan(budget_mu * std::sqrt(plain_share), adjacency, std::move(releases));
    target.beside.push_back({GaussianMechanism{accounted_noise_multiplier(plan.mu)}, 1});
  }
  plan.budget_mu = budget_mu;
  double z = rounded_up(calibrated_noise_multiplier(target, accountant));
  plan.releases.insert(plan.releases.begin() + place, planned_with(z * (1 + kAboveAccounted), adjacency, request));
  // An accountant's bound is checked at its own z; what a ledger counts, at the one that rounding left.
  while (epsilon_of(spending_of(plan), target.delta) > target.epsilon) {
    z = rounded_up(z * (1 + 1e-7));
    plan.releases[static_cast<std::size_t>(place)] = planned_with(z * (1 + kAboveAccounted), adjacency, request);
  }
  return plan;
}

}  // namespace dpreduce
