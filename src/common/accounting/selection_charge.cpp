#include "common/accounting/selection_charge.hpp"

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/high_precision.hpp"

namespace dpreduce {
namespace {

// Above the rounding of 50 digits, also after the subtractions below; far below that of double.
const HighPrecision kCancellationError("1e-30");

void require_selection_epsilon(double epsilon) {
  require_positive("epsilon of the selection", epsilon, kLargestPureEpsilon);
}

constexpr std::uint64_t kMostUtilities = std::uint64_t{1} << 40;

}  // namespace

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
