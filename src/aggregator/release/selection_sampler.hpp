// Sampler of a private selection: from the exact utilities of one group to its chosen candidates.
//
//   Legend. u_i the group's utilities, epsilon and Delta of the terms, gamma = epsilon / Delta under add-remove and
//           epsilon / (2 Delta) under replace-one, and where sums are folded; K the number of candidates chosen.
//
//     exponential, K = 1      P[i] ~ exp(gamma u_i)
//     exponential, K > 1      P[S] ~ exp(gamma min over i in S of u_i),   S of K candidates
//
// A set S has one worst member, when equal utilities are put in the order of their indices: C(y, K - 1) sets have the
// candidate of rank y (from 0) as theirs. So y is drawn with those multiplicities, and the others of S uniformly among
// the y better ones. The minimum over S moves by no more than the utilities do: the set costs what one candidate costs.
// Source: [wahdany2025], DPPL-PublicK; its printed multiplicity C(rank, K) is not private (exponential_mechanism.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/accounting/mechanism.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/randomness/exponential_mechanism.hpp"
#include "common/randomness/random_stream.hpp"

namespace dpreduce {

/// Origin of the sums that utilities are.
enum class UtilitySums {
  kOfTrustedRanks,  ///< the integers that they stand for
  kOfSilos          ///< folded: a silo may add anything to them
};

class SelectionSampler {
 public:
  /// Precondition (asserted): the exponential mechanism. Throws UsageError unless fault_of(terms) is empty.
  SelectionSampler(const SelectionTerms& terms, Adjacency adjacency, UtilitySums sums);

  /// K candidates, in increasing order, which does not depend on their utilities. One call per group, each with its own
  /// stream. Preconditions: as many utilities as the terms have candidates. Throws as select_exponential. Cost: that of
  /// the mechanism, for K > 1 also of sorting.
  std::vector<std::uint64_t> draw(RandomStream& stream, std::span<const std::int64_t> utilities) const;

 private:
  SelectionTerms terms_;
  SelectionRate rate_;
  std::optional<Multiplicities> sets_by_worst_;
};

/// The `chosen` candidates with the largest utilities, in increasing order; ties go to the smaller index.
/// Preconditions: chosen <= |utilities|.
std::vector<std::uint64_t> best_candidates(std::span<const std::int64_t> utilities, std::uint64_t chosen);

/// Folds a sum mod 2^64 to which one silo may have added anything: s if |s| <= 2^62, else sign(s) 2^63 - s. One record
/// then moves the folded sum by no more than its utility, wherever a silo has moved the sum. An unfolded sum would jump
/// from best to worst at 2^63, and one record may cause that.
std::int64_t folded(std::int64_t sum);

/// Largest size of each utility of this many silos for which their sums do not overflow.
constexpr std::int64_t largest_utility_of_silo(std::uint64_t silos) {
  return (std::int64_t{1} << 62) / static_cast<std::int64_t>(silos);
}

// Check that sums of utilities over trusted ranks did not wrap around mod 2^64. A sum that wraps around turns the best
// candidate into the worst, and one record may do it.
//
//   Legend. H_r = max(0, largest utility of rank r), L_r = max(0, -smallest): every sum lies in [-sum L_r, sum H_r].

/// H_r and L_r in digits of 32 bits, lowest first, so that up to 2^32 ranks' add up without overflow.
using UtilityRange = std::array<std::uint64_t, 4>;

UtilityRange utility_range(std::span<const std::int64_t> local);

/// sum H_r < 2^63 and sum L_r <= 2^63, for the element-wise sum of all ranks' ranges.
bool sums_cannot_wrap(const UtilityRange& summed);

}  // namespace dpreduce
