#include "common/accounting/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/dear_functions.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/accounting/privacy_loss.hpp"
#include "common/accounting/rdp.hpp"
#include "common/accounting/zcdp.hpp"

namespace dpreduce {
namespace {

constexpr double kRdpTolerance = 1e-6;
constexpr double kPldTolerance = 1e-5;
// Grids of the search; the last steps use the full one.
constexpr std::size_t kSearchCells = std::size_t{1} << 16;

void require_target(const CalibrationTarget& target, Accountant accountant) {
  require_positive("epsilon", target.epsilon, kLargestEpsilon);
  require_probability("delta", target.delta);
  if (accountant == Accountant::kPld) require_between("delta", target.delta, kSmallestPldDelta, 1);
  require_between("steps", static_cast<double>(target.steps), 1, static_cast<double>(kLargestCount));
  require_between("sampling rate", target.sampling_rate, kSmallestSamplingRate, 1);
  if (target.sampling_rate < 1 && (accountant == Accountant::kGdp || accountant == Accountant::kZcdp)) {
    throw UsageError("sampling rate = " + print_number(target.sampling_rate) +
                     ": the GDP and zCDP accountants do not know sampling; use pld or rdp");
  }
  if (target.beside.empty()) return;
  require_run(target.beside);
  if (accountant == Accountant::kGdp || accountant == Accountant::kZcdp) {
    throw UsageError("mechanisms beside the steps: the GDP and zCDP accountants do not search; use pld or rdp");
  }
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

double searched_pld_noise(const CalibrationTarget& target) {
  const auto epsilon_with = [&](std::size_t cells) {
    return [&target, cells](double z) { return pld_epsilon_upper(run_with(z, target), target.delta, cells); };
  };
  const double rough = search(1, 2, kPldTolerance, target, epsilon_with(kSearchCells));
  return search(rough, 1 + kPldTolerance, kPldTolerance, target, epsilon_with(kPldCells));
}

double pld_noise(const CalibrationTarget& target) {
  static Remembered<CalibrationTarget, double> answers;
  return answers.to(target, [&] { return searched_pld_noise(target); });
}

}  // namespace

double calibrated_noise_multiplier(const CalibrationTarget& target, Accountant accountant) {
  require_target(target, accountant);
  switch (accountant) {
    case Accountant::kGdp:
      return noise_for_total_mu(gdp_mu(target.epsilon, target.delta), target.steps);
    case Accountant::kZcdp:
      return noise_for_total_mu(mu_from_zcdp(zcdp_from_epsilon_tight(target.epsilon, target.delta)), target.steps);
    case Accountant::kRdp:
      return search(1, 2, kRdpTolerance, target,
                    [&](double z) { return rdp_epsilon(run_with(z, target), target.delta).epsilon; });
    case Accountant::kPld:
      return pld_noise(target);
  }
  throw std::logic_error("dpreduce: internal error: an accountant without calibration");
}

}  // namespace dpreduce
