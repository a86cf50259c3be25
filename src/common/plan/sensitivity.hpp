// How far one neighboring change can move a statistic, exactly.
//
// A change moves all blocks of a statistic at once: with profile (D_1^2, ..., D_B^2) and noise s_b on block b, it costs
// mu^2 = sum_b D_b^2 / s_b^2. Different kinds of change have different profiles, and a release must stand the worst:
// mu^2 = max over profiles. Example, class sums of rows with norm at most S and class counts:
//
//   add-remove                 {S^2, 1}      one record comes or goes: one class, (q, 1)
//   replace-one, same class    {4 S^2, 0}    q -> q', |q - q'| <= 2S; no count moves
//   replace-one, other class   {2 S^2, 2}    -q in one class, +q' in another; two counts move by one
//
// Taking the largest D_b^2 of each block instead, {4 S^2, 2}, would be safe as well, and pay for a change that cannot
// occur.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dpreduce {

/// One kind of neighboring change.
struct SensitivityProfile {
  std::string change;  ///< what a report calls it: "add-remove", "same class", "other class"
  /// Exact squared L2 sensitivity of every block, in squared lattice units, in the statistic's order of blocks.
  std::vector<std::uint64_t> squared_l2;
};

}  // namespace dpreduce
