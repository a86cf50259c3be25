#include "common/accounting/composition.hpp"

#include <algorithm>
#include <cmath>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/dear_functions.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/accounting/privacy_loss.hpp"
#include "common/accounting/rdp.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kLargestGroup = 1'000'000;

// Rounded to the side that promises less: noise multipliers down, epsilons up.
struct Scaled {
  double records;  // an exchange counts as two
  bool is_one_exchange;

  double larger(double epsilon) const {
    return records == 1 ? epsilon : std::nextafter(epsilon * records, 2 * kLargestPureEpsilon * records);
  }
  Mechanism operator()(const GaussianMechanism& m) const {
    if (records == 1) return m;
    if (m.q() == 1) return GaussianMechanism{std::nextafter(m.noise_multiplier / records, 0.0)};
    if (is_one_exchange) return GaussianMechanism{m.noise_multiplier, m.sampling_rate, true};
    throw UsageError(describe(m) +
                     ": a sample holds a random number of the records that differ, which no accountant here covers for "
                     "more than one; use a group of one");
  }
  Mechanism operator()(const ExponentialMechanism& m) const { return ExponentialMechanism{larger(m.epsilon)}; }
  Mechanism operator()(const PureMechanism& m) const { return PureMechanism{larger(m.epsilon)}; }
};

std::optional<HighPrecision> squared_mu(const Mechanism& mechanism) {
  const auto* gaussian = std::get_if<GaussianMechanism>(&mechanism);
  if (!gaussian || gaussian->q() != 1) return std::nullopt;
  return 1 / (HighPrecision(gaussian->noise_multiplier) * gaussian->noise_multiplier);
}

std::optional<HighPrecision> rho_of_mechanism(const Mechanism& mechanism) {
  if (const double epsilon = pure_epsilon(mechanism); epsilon > 0) {
    return HighPrecision(epsilon) * epsilon / (std::holds_alternative<ExponentialMechanism>(mechanism) ? 8 : 2);
  }
  std::optional<HighPrecision> rho = squared_mu(mechanism);
  if (rho) *rho /= 2;
  return rho;
}

// The sum of what each run of a mechanism adds; nothing where one of them has no such figure.
std::optional<HighPrecision> total_of(std::span<const RepeatedMechanism> run,
                                      std::optional<HighPrecision> (&added_by)(const Mechanism&)) {
  require_run(run);
  HighPrecision total = 0;
  for (const RepeatedMechanism& part : run) {
    const std::optional<HighPrecision> added = added_by(part.mechanism);
    if (!added) return std::nullopt;
    total += *added * part.count;
  }
  return total;
}

constexpr double kRdpTolerance = 1e-6;
constexpr double kPldTolerance = 1e-5;
// Grids of the search; the last steps use the full one.
constexpr std::size_t kSearchCells = std::size_t{1} << 16;

void require_target(const CalibrationTarget& target, Accountant accountant) {
  const bool is_exact = accountant == Accountant::kGdp || accountant == Accountant::kZcdp;
  require_positive("epsilon", target.epsilon, kLargestEpsilon);
  require_probability("delta", target.delta);
  if (accountant == Accountant::kPld) require_between("delta", target.delta, kSmallestPldDelta, 1);
  require_between("steps", static_cast<double>(target.steps), 1, static_cast<double>(kLargestCount));
  require_between("sampling rate", target.sampling_rate, kSmallestSamplingRate, 1);
  if (target.sampling_rate < 1 && is_exact) {
    throw UsageError("sampling rate = " + print_number(target.sampling_rate) +
                     ": the GDP and zCDP accountants do not know sampling; use pld or rdp");
  }
  if (target.beside.empty()) return;
  require_run(target.beside);
  if (!is_exact) return;
  throw UsageError("mechanisms beside the steps: the GDP and zCDP accountants do not search; use pld or rdp");
}

double noise_for_total_mu(double mu, std::uint64_t steps) {
  const double z = round_up(sqrt(HighPrecision(steps)) / HighPrecision(mu) * (1 + kArithmeticError));
  require_between("noise multiplier for this budget", z, kSmallestNoiseMultiplier, kLargestNoiseMultiplier);
  return z;
}

[[noreturn]] void refuse(const CalibrationTarget& target) {
  throw UsageError("epsilon = " + print_number(target.epsilon) + ", delta = " + print_number(target.delta) +
                   ": even a noise multiplier of " + print_number(kLargestNoiseMultiplier) + " does not reach it");
}

// ln(epsilon(z) / target), kept finite, and positive exactly where the target is missed: what falls through 0 at the
// answer.
double log_excess(double epsilon, double target) {
  constexpr double kFar = 50;
  constexpr double kNear = 1e-18;
  if (epsilon <= target) return epsilon > 0 ? std::clamp(std::log(epsilon / target), -kFar, 0.0) : -kFar;
  return std::isfinite(epsilon) ? std::clamp(std::log(epsilon / target), kNear, kFar) : kFar;
}

// Noise multipliers low <= high and how far their epsilon exceeds the target; that of high does not.
struct Bracket {
  double low;
  double excess_low;
  double high;
  double excess_high;
};

// Found from `start` by growing factors. Low is high where the smallest multiplier meets the target.
template <typename ExcessAt>
Bracket bracket_of(double start, double factor, const CalibrationTarget& target, const ExcessAt& excess_at) {
  const double z = std::clamp(start, kSmallestNoiseMultiplier, kLargestNoiseMultiplier);
  const double excess = excess_at(z);
  Bracket ends{z, excess, z, excess};
  if (excess <= 0) {
    do {
      ends.high = ends.low;
      ends.excess_high = ends.excess_low;
      if (ends.low == kSmallestNoiseMultiplier) return ends;
      ends.low = std::max(ends.low / factor, kSmallestNoiseMultiplier);
      ends.excess_low = excess_at(ends.low);
      factor *= factor;
    } while (ends.excess_low <= 0);
  } else {
    do {
      if (ends.high == kLargestNoiseMultiplier) refuse(target);
      ends.low = ends.high;
      ends.excess_low = ends.excess_high;
      ends.high = std::min(ends.high * factor, kLargestNoiseMultiplier);
      ends.excess_high = excess_at(ends.high);
      factor *= factor;
    } while (ends.excess_high > 0);
  }
  return ends;
}

// A z with epsilon_of(z) <= target such that some z at most the tolerance below, or the smallest in range, does not
// have it, as far as a wavy epsilon_of can be trusted; only a z that was seen to have it is returned. Brackets by
// growing factors, then the Illinois rule in ln z, kept off both ends by a fraction of the tolerance.
template <typename EpsilonOf>
double search(double start, double factor, double tolerance, const CalibrationTarget& target, EpsilonOf epsilon_of) {
  const auto excess_at = [&](double z) { return log_excess(epsilon_of(z), target.epsilon); };
  auto [low, excess_low, high, excess_high] = bracket_of(start, factor, target, excess_at);
  const double log_tolerance = std::log1p(tolerance);
  double weight_low = 1;  // an end that stays twice counts for half, and for half of that if it stays again
  double weight_high = 1;
  bool low_moved = false;
  bool high_moved = false;
  for (int step = 0; std::log(high / low) > log_tolerance; ++step) {
    const double length = std::log(high / low);
    double share = weight_low * excess_low / (weight_low * excess_low - weight_high * excess_high);
    if (!(share >= 0 && share <= 1) || step % 4 == 3) share = 0.5;
    const double margin = std::min(0.5, 0.4 * log_tolerance / length);
    const double middle = low * std::exp(length * std::clamp(share, margin, 1 - margin));
    if (middle <= low || middle >= high) break;
    const double excess = excess_at(middle);
    if (excess > 0) {
      low = middle;
      excess_low = excess;
      weight_low = 1;
      if (low_moved) weight_high /= 2;
    } else {
      high = middle;
      excess_high = excess;
      weight_high = 1;
      if (high_moved) weight_low /= 2;
    }
    low_moved = excess > 0;
    high_moved = !low_moved;
  }
  return high;
}

std::vector<RepeatedMechanism> run_with(double z, const CalibrationTarget& target) {
  std::vector<RepeatedMechanism> run = target.beside;
  GaussianMechanism step{z};
  if (target.sampling_rate < 1) step = {z, target.sampling_rate, target.is_exchange};
  run.push_back({step, target.steps});
  return run;
}

double pld_noise(const CalibrationTarget& target) {
  static Remembered<CalibrationTarget, double> answers;
  const auto epsilon_with = [&](std::size_t cells) {
    return [&target, cells](double z) { return pld_epsilon_upper(run_with(z, target), target.delta, cells); };
  };
  return answers.to(target, [&] {
    const double rough = search(1, 2, kPldTolerance, target, epsilon_with(kSearchCells));
    return search(rough, 1 + kPldTolerance, kPldTolerance, target, epsilon_with(kPldCells));
  });
}

}  // namespace

double ComposedEpsilon::best() const {
  double least = std::min(rdp, pld);
  for (const std::optional<double>& other : {gdp, zcdp_simple, zcdp_tight}) {
    if (other) least = std::min(least, *other);
  }
  return least;
}

std::vector<RepeatedMechanism> run_for(std::span<const RepeatedMechanism> run, const Neighbors& neighbors) {
  require_run(run);
  if (neighbors.records == 0 || neighbors.records > kLargestGroup) {
    throw UsageError("group of " + std::to_string(neighbors.records) + " records: must be from 1 to " +
                     std::to_string(kLargestGroup));
  }
  const bool is_exchange = neighbors.adjacency == Adjacency::kReplaceOne;
  const std::uint64_t changes = neighbors.records * (is_exchange ? 2 : 1);
  const Scaled scale{static_cast<double>(changes), is_exchange && neighbors.records == 1};
  std::vector<RepeatedMechanism> scaled;
  for (const RepeatedMechanism& part : run) {
    scaled.push_back({std::visit(scale, part.mechanism), part.count});
    require_mechanism(scaled.back().mechanism);
  }
  return scaled;
}

std::optional<double> zcdp_of_run(std::span<const RepeatedMechanism> run) {
  const std::optional<HighPrecision> rho = total_of(run, rho_of_mechanism);
  return rho ? std::optional(round_up(*rho * (1 + kArithmeticError))) : std::nullopt;
}

std::optional<double> gdp_of_run(std::span<const RepeatedMechanism> run) {
  const std::optional<HighPrecision> squared = total_of(run, squared_mu);
  return squared ? std::optional(round_up(sqrt(*squared) * (1 + kArithmeticError))) : std::nullopt;
}

ComposedEpsilon compose_epsilon(std::span<const RepeatedMechanism> run, double delta, const Neighbors& neighbors) {
  const std::vector<RepeatedMechanism> scaled = run_for(run, neighbors);
  const PrivacyLossBounds bounds = pld_epsilon(scaled, delta);
  ComposedEpsilon result{{}, {}, {}, rdp_epsilon(scaled, delta), bounds.upper, bounds.lower};
  if (const std::optional<double> mu = gdp_of_run(scaled); mu && *mu <= kLargestMu)
    result.gdp = gdp_epsilon(*mu, delta);
  if (const std::optional<double> rho = zcdp_of_run(scaled); rho && *rho <= kLargestRho) {
    result.zcdp_simple = epsilon_from_zcdp_simple(*rho, delta);
    result.zcdp_tight = epsilon_from_zcdp_tight(*rho, delta);
  }
  return result;
}

double calibrated_noise_multiplier(const CalibrationTarget& target, Accountant accountant) {
  require_target(target, accountant);
  switch (accountant) {
    case Accountant::kGdp:
      return noise_for_total_mu(gdp_mu(target.epsilon, target.delta), target.steps);
    case Accountant::kZcdp:
      return noise_for_total_mu(mu_from_zcdp(zcdp_from_epsilon_tight(target.epsilon, target.delta)), target.steps);
    case Accountant::kRdp:
      return search(1, 2, kRdpTolerance, target,
                    [&](double z) { return rdp_epsilon(run_with(z, target), target.delta); });
    case Accountant::kPld:
      return pld_noise(target);
  }
  throw std::logic_error("dpreduce: internal error: an accountant without calibration");
}

}  // namespace dpreduce
