#include "common/accounting/mechanism.hpp"

#include <string_view>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/high_precision.hpp"

namespace dpreduce {
namespace {

void require_pure_epsilon(std::string_view whose, double epsilon) {
  require_between(std::string("epsilon of ") + std::string(whose), epsilon, kSmallestPureEpsilon, kLargestPureEpsilon);
}

struct Check {
  void operator()(const GaussianMechanism& m) const {
    require_between("noise multiplier", m.noise_multiplier, kSmallestNoiseMultiplier, kLargestNoiseMultiplier);
    require_between("sampling rate", m.q(), kSmallestSamplingRate, 1);
  }
  void operator()(const ExponentialMechanism& m) const { require_pure_epsilon("the exponential mechanism", m.epsilon); }
  void operator()(const PureMechanism& m) const { require_pure_epsilon("the pure-DP mechanism", m.epsilon); }
};

struct Describe {
  std::string operator()(const GaussianMechanism& m) const {
    const std::string plain = "Gaussian, z = " + print_number(m.noise_multiplier);
    if (!m.sampling_rate) return plain;
    return "subsampled " + plain + ", q = " + print_number(m.q()) + (m.is_exchange ? ", of an exchange" : "");
  }
  std::string operator()(const ExponentialMechanism& m) const {
    return "exponential mechanism, epsilon = " + print_number(m.epsilon);
  }
  std::string operator()(const PureMechanism& m) const { return "pure DP, epsilon = " + print_number(m.epsilon); }
};

// Above the rounding of 50 digits, also after the subtractions below; far below that of double.
const HighPrecision kCancellationError("1e-30");

void require_selection_epsilon(double epsilon) {
  require_positive("epsilon of the selection", epsilon, kLargestPureEpsilon);
}

constexpr std::uint64_t kMostUtilities = std::uint64_t{1} << 40;

}  // namespace

void require_mechanism(const Mechanism& mechanism) {
  std::visit(Check{}, mechanism);
}

void require_run(std::span<const RepeatedMechanism> run) {
  if (run.empty()) throw UsageError("no mechanism to account for: give at least one");
  std::uint64_t total = 0;
  for (const RepeatedMechanism& part : run) {
    require_mechanism(part.mechanism);
    if (part.count == 0 || part.count > kLargestCount - total) {
      throw UsageError("count = " + std::to_string(part.count) + " of " + describe(part.mechanism) +
                       ": must be at least 1, and all counts together at most " + std::to_string(kLargestCount));
    }
    total += part.count;
  }
}

double pure_epsilon(const Mechanism& mechanism) {
  if (const auto* exponential = std::get_if<ExponentialMechanism>(&mechanism)) return exponential->epsilon;
  const auto* pure = std::get_if<PureMechanism>(&mechanism);
  return pure ? pure->epsilon : 0;
}

std::string describe(const Mechanism& mechanism) {
  return std::visit(Describe{}, mechanism);
}

SelectionCharge selection_charge(double epsilon, double delta) {
  require_selection_epsilon(epsilon);
  require_probability("delta", delta);
  const HighPrecision range(epsilon);
  const HighPrecision left = 1 - sqrt(HighPrecision(delta) * -expm1(-range));
  const HighPrecision single = range + 2 * log(left);
  return {round_up(range * range / 8), single > 0 ? round_up(single + kCancellationError * range) : 0.0};
}

double selection_mu(double epsilon) {
  require_selection_epsilon(epsilon);
  const HighPrecision tail = 2 / (1 + exp(HighPrecision(epsilon) / 2));
  return round_up(2 * root_two() * erfc_inv(tail) * (1 + kCancellationError));
}

double selection_epsilon(double mu) {
  require_positive("mu of the selection", mu);
  const HighPrecision tail = erfc(HighPrecision(mu) / (2 * root_two())) / 2;
  const double epsilon = round_down(2 * log((1 - tail) / tail) * (1 - kCancellationError));
  require_selection_epsilon(epsilon);
  return epsilon;
}

std::string fault_of(const SelectionTerms& terms) {
  if (!(terms.epsilon >= kSmallestPureEpsilon && terms.epsilon <= kLargestPureEpsilon)) {
    return "epsilon = " + print_number(terms.epsilon) + " must be from " + print_number(kSmallestPureEpsilon) + " to " +
           print_number(kLargestPureEpsilon);
  }
  if (terms.sensitivity == 0) return "sensitivity = 0 must be at least 1";
  if (terms.candidates == 0) return "candidates = 0 must be at least 1";
  if (terms.groups == 0) return "groups = 0 must be at least 1";
  if (terms.candidates > kMostUtilities / terms.groups) {
    return std::to_string(terms.candidates) + " candidates in " + std::to_string(terms.groups) +
           " groups: at most 2^40 utilities";
  }
  if (terms.chosen == 0 || terms.chosen > terms.candidates) {
    return "chosen = " + std::to_string(terms.chosen) + " must be from 1 to the number of candidates, " +
           std::to_string(terms.candidates);
  }
  if (terms.mechanism == SelectionMechanism::kPermuteAndFlip && terms.chosen > 1) {
    return "chosen = " + std::to_string(terms.chosen) + ": permute-and-flip chooses one candidate";
  }
  return {};
}

Mechanism loss_of(const SelectionTerms& terms) {
  if (terms.mechanism == SelectionMechanism::kExponential) return ExponentialMechanism{terms.epsilon};
  return PureMechanism{terms.epsilon};
}

double rho_of(const SelectionTerms& terms) {
  return terms.epsilon * terms.epsilon / (terms.mechanism == SelectionMechanism::kExponential ? 8 : 2);
}

}  // namespace dpreduce
