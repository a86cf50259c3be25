#include "common/accounting/selection_terms.hpp"

#include "common/accounting/argument_checks.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kMostUtilities = std::uint64_t{1} << 40;

}  // namespace

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
