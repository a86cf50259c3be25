#include "common/ledger/noise_plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <utility>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/ledger/triangle.hpp"

namespace dpreduce {
namespace {

// Kept back of the budget's mu^2. Ledgers charge every round by itself, its mu rounded up to a double, and add these
// up, rounding up again: a few units in the last place, 2^-52, that must not be what passes the budget.
const HighPrecision kRoundingSlack("4e-15");

HighPrecision squared_mu(std::span<const double> sigmas, const std::vector<SensitivityProfile>& profiles,
                         const HighPrecision& rows_of_rounds) {
  HighPrecision worst = 0;
  for (const SensitivityProfile& profile : profiles) {
    HighPrecision cost = 0;
    for (std::size_t block = 0; block < sigmas.size(); ++block) {
      cost += HighPrecision(profile.squared_l2[block]) / (HighPrecision(sigmas[block]) * sigmas[block]);
    }
    worst = std::max(worst, cost);
  }
  return worst * rows_of_rounds * (1 + kArithmeticError);
}

// rounds B^2: a unit moves a round B times as far as a row, and costs B^2 times its mu^2.
HighPrecision rows_of_rounds(std::uint64_t rounds, std::uint64_t rows_per_unit) {
  return HighPrecision(rounds) * rows_per_unit * rows_per_unit;
}

std::uint64_t largest_squared(const std::vector<SensitivityProfile>& profiles, std::size_t block) {
  std::uint64_t largest = 0;
  for (const SensitivityProfile& profile : profiles) largest = std::max(largest, profile.squared_l2[block]);
  return largest;
}

bool are_triangles(std::uint64_t elements, std::uint64_t count) {
  return count > 0 && elements % count == 0 && triangle_order(elements / count).has_value();
}

void require_blocks(const ReleaseRequest& release) {
  DPREDUCE_ASSERT(!release.blocks.empty());
  std::set<std::string_view> names;
  for (const BlockRequest& block : release.blocks) {
    DPREDUCE_ASSERT(!block.name.empty() && names.insert(block.name).second && block.elements > 0);
    DPREDUCE_ASSERT(block.loss_weight > 0 && std::isfinite(block.loss_weight));
    DPREDUCE_ASSERT(block.noise == BlockNoise::kEqual ||
                    (are_triangles(block.elements, block.triangles) && block.fraction_bits == 0));
  }
}

// Every block is moved by some change: one that none moves is public, and needs no noise.
void require_profiles(const ReleaseRequest& release, Adjacency adjacency) {
  const auto& profiles = release.profiles;
  DPREDUCE_ASSERT(!profiles.empty() && (adjacency == Adjacency::kReplaceOne || profiles.size() == 1));
  for (const SensitivityProfile& profile : profiles) {
    DPREDUCE_ASSERT(profile.squared_l2.size() == release.blocks.size());
  }
  for (std::size_t block = 0; block < release.blocks.size(); ++block) {
    DPREDUCE_ASSERT(largest_squared(profiles, block) > 0);
  }
}

void require_releases(double mu, Adjacency adjacency, const std::vector<ReleaseRequest>& releases) {
  require_between("mu", mu, kSmallestMu, kLargestMu);
  DPREDUCE_ASSERT(!releases.empty());
  std::set<std::string_view> names;
  for (const ReleaseRequest& release : releases) {
    DPREDUCE_ASSERT(names.insert(release.name).second);
    DPREDUCE_ASSERT(release.share > 0 && std::isfinite(release.share));
    // The loss of a sampled round is not Gaussian, so that it has no share of mu^2.
    DPREDUCE_ASSERT(release.rounds > 0 && release.rows_per_unit > 0 && release.sampling_rate == 1);
    require_blocks(release);
    require_profiles(release, adjacency);
  }
}

const HighPrecision kOptimalityGap("1e-25");
const HighPrecision kShareTolerance("1e-38");
constexpr int kMaxTransfers = 100;
constexpr int kRescalings = 20;      // after each transfer
constexpr int kMaxBisections = 400;  // shares down to 2^-270

using Vector = std::vector<HighPrecision>;

struct SplitProblem {
  Vector weights;
  std::vector<Vector> squared;  // [profile][block]

  // c_b = sum_p theta_p D_pb^2 for every block.
  Vector mixed(const Vector& theta) const {
    Vector sums(weights.size());
    for (std::size_t block = 0; block < sums.size(); ++block) {
      for (std::size_t profile = 0; profile < squared.size(); ++profile) {
        sums[block] += theta[profile] * squared[profile][block];
      }
    }
    return sums;
  }

  // sqrt(W_b / c_b): the precisions, up to a common factor.
  Vector direction(const Vector& theta) const {
    Vector result = mixed(theta);
    for (std::size_t block = 0; block < result.size(); ++block) result[block] = sqrt(weights[block] / result[block]);
    return result;
  }

  // u_p = sum_b D_pb^2 x_b for every profile.
  Vector uses(const Vector& precisions) const {
    Vector result(squared.size());
    for (std::size_t profile = 0; profile < result.size(); ++profile) {
      for (std::size_t block = 0; block < precisions.size(); ++block) {
        result[profile] += squared[profile][block] * precisions[block];
      }
    }
    return result;
  }
};

// Moves weight from one profile to another until both use the same, or the giver has none left.
void transfer(const SplitProblem& problem, Vector& theta, std::size_t giver, std::size_t taker) {
  const HighPrecision total = theta[giver] + theta[taker];
  HighPrecision keep_low = 0;
  HighPrecision keep_high = theta[giver];
  for (int step = 0; step < kMaxBisections && keep_high - keep_low > kShareTolerance * keep_high; ++step) {
    theta[giver] = (keep_low + keep_high) / 2;
    theta[taker] = total - theta[giver];
    const Vector use = problem.uses(problem.direction(theta));
    (use[taker] > use[giver] ? keep_high : keep_low) = theta[giver];
  }
  // A block that only the giver moves needs some of its weight, however little.
  theta[giver] = keep_low;
  theta[taker] = total - theta[giver];
  if (std::ranges::all_of(problem.mixed(theta), [](const HighPrecision& sum) { return sum > 0; })) return;
  theta[giver] = keep_high;
  theta[taker] = total - theta[giver];
}

// theta_p <- theta_p u_p / A, which never lowers A (Cover's update) and sets many small shares right at once, where
// transfers between pairs would go in circles.
void rescale(const SplitProblem& problem, Vector& theta) {
  const Vector use = problem.uses(problem.direction(theta));
  HighPrecision sum = 0;
  for (std::size_t profile = 0; profile < theta.size(); ++profile) sum += theta[profile] *= use[profile];
  for (HighPrecision& share : theta) share /= sum;
}

// Noise precisions x_b = 1 / s_b^2 that minimize sum_b W_b / x_b subject to sum_b D_pb^2 x_b <= squared_mu for every
// profile p: feasible up to the rounding of 50 digits, its loss optimal up to a relative 1e-25 (one profile: exact).
//
// By Lagrange, x_b is proportional to sqrt(W_b / c_b), c_b = sum_p theta_p D_pb^2, theta >= 0 with sum 1; the dual
// function is A(theta)^2 / squared_mu with A(theta) = sum_b sqrt(W_b c_b), concave, and its slope in theta_p is half
// of u_p = sum_b D_pb^2 sqrt(W_b / c_b), what profile p uses. A is maximal when no u_p exceeds A. The search moves
// weight from the profile that uses least to the one that uses most, each time as far as is best.
//
// Preconditions (the caller has checked all of them): weights positive; profiles not empty, one entry a weight; every
// block has D_pb > 0 for some p; squared_mu > 0.
// Cost: one step for up to two profiles; each step takes about 150 x blocks square roots.
Vector split_precision(std::span<const double> weights, const std::vector<SensitivityProfile>& profiles,
                       const HighPrecision& squared_mu) {
  SplitProblem problem{{weights.begin(), weights.end()}, {}};
  for (const SensitivityProfile& profile : profiles) {
    problem.squared.emplace_back(profile.squared_l2.begin(), profile.squared_l2.end());
  }
  Vector theta(profiles.size(), HighPrecision(1) / profiles.size());
  Vector precisions = problem.direction(theta);
  Vector use = problem.uses(precisions);
  for (int step = 0; step < kMaxTransfers && profiles.size() > 1; ++step) {
    std::size_t taker = 0;
    std::size_t giver = profiles.size();
    HighPrecision mixed_use = 0;  // sum_p theta_p u_p = A(theta)
    for (std::size_t profile = 0; profile < profiles.size(); ++profile) {
      mixed_use += theta[profile] * use[profile];
      if (use[profile] > use[taker]) taker = profile;
      if (theta[profile] > 0 && (giver == profiles.size() || use[profile] < use[giver])) giver = profile;
    }
    if (use[taker] <= mixed_use * (1 + kOptimalityGap)) break;
    transfer(problem, theta, giver, taker);
    for (int repeat = 0; repeat < kRescalings && profiles.size() > 2; ++repeat) rescale(problem, theta);
    precisions = problem.direction(theta);
    use = problem.uses(precisions);
  }
  const HighPrecision scale = squared_mu / *std::max_element(use.begin(), use.end());
  for (HighPrecision& precision : precisions) precision *= scale;
  return precisions;
}

// The sigmas of one release whose rounds together may spend allowed_squared_mu.
std::vector<double> choose_sigmas(const ReleaseRequest& release, const HighPrecision& allowed_squared_mu) {
  std::vector<double> weights;
  for (const BlockRequest& block : release.blocks) weights.push_back(block.loss_weight);
  const HighPrecision rows = rows_of_rounds(release.rounds, release.rows_per_unit);
  const std::vector<HighPrecision> precisions = split_precision(weights, release.profiles, allowed_squared_mu / rows);

  std::vector<double> sigmas;
  for (std::size_t block = 0; block < precisions.size(); ++block) {
    // So that the elements beside a diagonal get no less than the smallest either.
    const double smallest =
        release.blocks[block].noise == BlockNoise::kSymmetric ? 2 * kSmallestPlannedSigma : kSmallestPlannedSigma;
    sigmas.push_back(std::max(round_up(1 / sqrt(precisions[block])), smallest));
  }
  while (squared_mu(sigmas, release.profiles, rows) > allowed_squared_mu) {
    for (double& sigma : sigmas) sigma = std::nextafter(sigma, std::numeric_limits<double>::infinity());
  }
  for (std::size_t block = 0; block < sigmas.size(); ++block) {
    require_between("release " + release.name + ", block " + release.blocks[block].name +
                        ": the budget is too small for 64-bit sums: sigma",
                    sigmas[block], std::numeric_limits<double>::min(),
                    release.blocks[block].fraction_bits == 0 ? kLargestPlannedSigma : kLargestFractionalSigma);
  }
  return sigmas;
}

PlannedRelease plan_release(const ReleaseRequest& request, const std::vector<double>& sigmas) {
  PlannedRelease release{.name = request.name,
                         .rounds = request.rounds,
                         .blocks = {},
                         .profiles = request.profiles,
                         .mu = realized_mu(sigmas, request.profiles, request.rounds, request.rows_per_unit),
                         .rows_per_unit = request.rows_per_unit};
  for (std::size_t block = 0; block < sigmas.size(); ++block) {
    const std::uint64_t squared = largest_squared(request.profiles, block);
    const HighPrecision sensitivity = request.rows_per_unit * sqrt(HighPrecision(squared));
    release.blocks.push_back({.name = request.blocks[block].name,
                              .elements = request.blocks[block].elements,
                              .squared_sensitivity = squared,
                              .sensitivity = round_up(sensitivity),
                              .sigma = sigmas[block],
                              .mu = round_up(sensitivity / sigmas[block]),
                              .noise = request.blocks[block].noise,
                              .triangles = request.blocks[block].triangles,
                              .fraction_bits = request.blocks[block].fraction_bits});
  }
  return release;
}

template <typename Items>
const auto& named(const Items& items, std::string_view name) {
  const auto found = std::ranges::find_if(items, [&](const auto& item) { return item.name == name; });
  DPREDUCE_ASSERT(found != items.end());
  return *found;
}

}  // namespace

const PlannedBlock& PlannedRelease::block(std::string_view block_name) const {
  return named(blocks, block_name);
}

const PlannedRelease& NoisePlan::release(std::string_view release_name) const {
  return named(releases, release_name);
}

const PlannedSelection& NoisePlan::selection(std::string_view selection_name) const {
  return named(selections, selection_name);
}

std::string label_of_round(const PlannedRelease& release, std::uint64_t round) {
  return release.rounds == 1 ? release.name : release.name + "/" + std::to_string(round);
}

NoisePlan make_noise_plan(double mu, Adjacency adjacency, std::vector<ReleaseRequest> releases) {
  require_releases(mu, adjacency, releases);
  HighPrecision all_shares = 0;
  for (const ReleaseRequest& release : releases) all_shares += release.share;
  const HighPrecision budget = HighPrecision(mu) * mu;

  NoisePlan plan{.adjacency = adjacency, .budget_mu = mu, .mu = 0, .releases = {}, .selections = {}};
  HighPrecision spent = 0;
  for (const ReleaseRequest& request : releases) {
    const HighPrecision allowed = budget * request.share / all_shares * (1 - kRoundingSlack);
    const std::vector<double> sigmas = choose_sigmas(request, allowed);
    spent += squared_mu(sigmas, request.profiles, rows_of_rounds(request.rounds, request.rows_per_unit));
    plan.releases.push_back(plan_release(request, sigmas));
  }
  DPREDUCE_ASSERT(spent <= budget);
  plan.mu = std::min(mu, round_up(sqrt(spent)));
  return plan;
}

NoisePlan with_selections(NoisePlan plan, std::vector<PlannedSelection> selections) {
  std::set<std::string> names;
  for (const PlannedRelease& release : plan.releases) names.insert(release.name);
  for (const PlannedSelection& selection : plan.selections) names.insert(selection.name);
  for (PlannedSelection& selection : selections) {
    DPREDUCE_ASSERT(!selection.name.empty() && names.insert(selection.name).second);
    if (const std::string fault = fault_of(selection.terms); !fault.empty()) {
      throw UsageError("selection " + selection.name + ": " + fault);
    }
    DPREDUCE_ASSERT(selection.terms.mechanism == SelectionMechanism::kExponential);  // no other is drawn
    plan.selections.push_back(std::move(selection));
  }
  return plan;
}

double realized_mu(std::span<const double> sigmas, const std::vector<SensitivityProfile>& profiles,
                   std::uint64_t rounds, std::uint64_t rows_per_unit) {
  for (const double sigma : sigmas) require_positive("sigma", sigma);
  for (const SensitivityProfile& profile : profiles) DPREDUCE_ASSERT(profile.squared_l2.size() == sigmas.size());
  return round_up(sqrt(squared_mu(sigmas, profiles, rows_of_rounds(rounds, rows_per_unit))));
}

double mu_of_rounds(const PlannedRelease& release, std::uint64_t rounds) {
  std::vector<double> sigmas;
  for (const PlannedBlock& block : release.blocks) sigmas.push_back(block.sigma);
  return realized_mu(sigmas, release.profiles, rounds, release.rows_per_unit);
}

double off_diagonal_sigma(double sigma) {
  require_positive("sigma", sigma);
  return round_up(HighPrecision(sigma) / sqrt(HighPrecision(2)) * (1 + kArithmeticError));
}

}  // namespace dpreduce
