#include "dpreduce/privacy/calibration.hpp"

#include <cmath>
#include <string>

#include "dpreduce/privacy/argument_checks.hpp"
#include "dpreduce/privacy/gaussian_dp.hpp"
#include "dpreduce/privacy/high_precision.hpp"
#include "dpreduce/privacy/mechanism.hpp"
#include "dpreduce/privacy/privacy_loss.hpp"
#include "dpreduce/privacy/rdp.hpp"
#include "dpreduce/privacy/zcdp.hpp"

namespace dpreduce {
namespace {

const HighPrecision kArithmeticError("1e-40");
constexpr double kRdpTolerance = 1e-6;
constexpr double kPldTolerance = 1e-5;
// Grids of the search; the last steps use the full one.
constexpr std::size_t kSearchCells = std::size_t{1} << 16;

void check_target(const CalibrationTarget& target, Accountant accountant) {
  require_positive("epsilon", target.epsilon);
  require_between("epsilon", target.epsilon, 0, kLargestEpsilon);
  require_probability("delta", target.delta);
  if (accountant == Accountant::kPld) require_between("delta", target.delta, kSmallestPldDelta, 1);
  require_between("steps", static_cast<double>(target.steps), 1, static_cast<double>(kLargestCount));
  require_between("sampling rate", target.sampling_rate, kSmallestSamplingRate, 1);
  if (target.sampling_rate < 1 && (accountant == Accountant::kGdp || accountant == Accountant::kZcdp)) {
    throw UsageError("sampling rate = " + print_number(target.sampling_rate) +
                     ": the GDP and zCDP accountants do not know sampling; use pld or rdp");
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

// The smaller end of [low, high] for which meets() holds, to a relative tolerance; meets(high) is known to hold, and
// only points at which it was seen to hold are returned.
template <typename Meets>
double bisect(double low, double high, double tolerance, Meets meets) {
  while (high > low * (1 + tolerance)) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    if (middle <= low || middle >= high) break;
    (meets(middle) ? high : low) = middle;
  }
  return high;
}

// An end of the bracket where meets() holds, doubling away from a start; [low, high] with meets(high), not meets(low)
// or low the smallest multiplier in range.
template <typename Meets>
double search(double start, double factor, double tolerance, const CalibrationTarget& target, Meets meets) {
  double high = std::min(std::max(start, kSmallestNoiseMultiplier), kLargestNoiseMultiplier);
  double low = high;
  if (meets(high)) {
    do {
      if (low == kSmallestNoiseMultiplier) return low;
      high = low;
      low = std::max(low / factor, kSmallestNoiseMultiplier);
      factor *= factor;
    } while (meets(low));
  } else {
    do {
      if (high == kLargestNoiseMultiplier) refuse(target);
      low = high;
      high = std::min(high * factor, kLargestNoiseMultiplier);
      factor *= factor;
    } while (!meets(high));
  }
  return bisect(low, high, tolerance, meets);
}

RepeatedMechanism steps_with(double z, const CalibrationTarget& target) {
  if (target.sampling_rate == 1) return {GaussianMechanism{z}, target.steps};
  return {SubsampledGaussian{z, target.sampling_rate}, target.steps};
}

double rdp_noise(const CalibrationTarget& target) {
  return search(1, 2, kRdpTolerance, target, [&](double z) {
    const RepeatedMechanism run = steps_with(z, target);
    return rdp_epsilon({&run, 1}, target.delta).epsilon <= target.epsilon;
  });
}

double pld_noise(const CalibrationTarget& target) {
  const auto meets_with = [&](std::size_t cells) {
    return [&target, cells](double z) {
      const RepeatedMechanism run = steps_with(z, target);
      return pld_epsilon_upper({&run, 1}, target.delta, cells) <= target.epsilon;
    };
  };
  const double rough = search(1, 2, 1e-3, target, meets_with(kSearchCells));
  const double finer = search(rough, 1.001, kPldTolerance, target, meets_with(kSearchCells));
  return search(finer, 1 + kPldTolerance, kPldTolerance, target, meets_with(kPldCells));
}

}  // namespace

double calibrated_noise_multiplier(const CalibrationTarget& target, Accountant accountant) {
  check_target(target, accountant);
  switch (accountant) {
    case Accountant::kGdp:
      return noise_for_total_mu(gdp_mu(target.epsilon, target.delta), target.steps);
    case Accountant::kZcdp:
      return noise_for_total_mu(mu_from_zcdp(zcdp_from_epsilon_tight(target.epsilon, target.delta)), target.steps);
    case Accountant::kRdp:
      return rdp_noise(target);
    case Accountant::kPld:
      return pld_noise(target);
  }
  throw std::logic_error("dpreduce: internal error: an accountant without calibration");
}

}  // namespace dpreduce
