// What a private selection is, in public numbers: its plan and its ledger line state the same ones.
//
//   u_gi     utility of candidate i (of `candidates`) in group g (of `groups`): a sum over the records of group g
//   Delta    sensitivity: the most by which what one record adds to the utilities of its group differs between two
//            candidates. Only differences count: adding a constant to all of a group's utilities changes no probability
//   chosen   candidates that every group puts out, in no order; a set is as good as its worst member
//   epsilon  the whole selection's, under the plan's adjacency; the rate gamma is epsilon / Delta under add-remove and
//            epsilon / (2 Delta) under replace-one
//
// A record stands in one group, so that all groups together cost what one costs. Add-remove: the logarithms of one
// group's probabilities move within an interval of length gamma Delta. Replace-one: a removal and an addition, in one
// group or two, 2 gamma Delta in all. Both are epsilon.
#pragma once

#include <cstdint>
#include <string>

#include "common/accounting/mechanism.hpp"
#include "common/base/privacy_terms.hpp"

namespace dpreduce {

struct SelectionTerms {
  SelectionMechanism mechanism = SelectionMechanism::kExponential;
  double epsilon = 0;
  std::uint64_t sensitivity = 1;
  std::uint64_t candidates = 0;
  std::uint64_t groups = 1;
  std::uint64_t chosen = 1;

  bool operator==(const SelectionTerms&) const = default;
};

/// Why there is no such selection, naming the number and its value; empty if there is. It must have
/// kSmallestPureEpsilon <= epsilon <= kLargestPureEpsilon; sensitivity, candidates, groups >= 1, candidates x groups
/// <= 2^40; 1 <= chosen <= candidates; chosen = 1 with permute-and-flip.
std::string fault_of(const SelectionTerms& terms);

/// What the accountants take it for: ExponentialMechanism (a range of epsilon), or for permute-and-flip, which has no
/// such range, PureMechanism.
Mechanism loss_of(const SelectionTerms& terms);

/// Its zCDP parameter: epsilon^2 / 8, or for permute-and-flip epsilon^2 / 2; to the nearest double.
double rho_of(const SelectionTerms& terms);

}  // namespace dpreduce
