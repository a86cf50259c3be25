// One run of many mechanisms, seen by every accountant.
//
//   add-remove    mechanisms as given
//   replace-one   an exchange is one removal and one addition: the group of two records. A statistic whose exchange
//                 moves it by less (one class sum of clipped rows: sqrt(2) C, or 2 C) has a sensitivity of its own:
//                 state the noise multiplier against that one, and add-remove here
//                 A round on a Poisson sample has a pair of its own there (loss_law.hpp)
//   group of r    sensitivities grow to r D at most: mu -> r mu, epsilon -> r epsilon for pure DP and, since ranges
//                 of log probabilities add, bounded range. A Poisson sample holds a random number of the
//                 group's records: no accountant here covers that, so it is refused
//
// Every number below except pld_lower is an upper bound of the run's epsilon at delta, so the least of them is one too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/accounting/mechanism.hpp"
#include "common/base/privacy_terms.hpp"

namespace dpreduce {

struct Neighbors {
  Adjacency adjacency = Adjacency::kAddRemove;
  std::uint64_t records = 1;
};

struct ComposedEpsilon {
  std::optional<double> gdp;          ///< exact; for runs of Gaussians only, mu at most kLargestMu
  std::optional<double> zcdp_simple;  ///< empty with sampled Gaussians, which are not zCDP at a useful rho
  std::optional<double> zcdp_tight;   ///< both only for rho at most kLargestRho
  double rdp;                         ///< best real order
  double pld;                         ///< upper bound of the privacy loss distribution
  double pld_lower;                   ///< some run of these mechanisms has at least this epsilon
  double best() const;                ///< the least upper bound
};

/// The same run against a group: every mechanism with the parameters above. Preconditions: require_run; 1 <= records <=
/// 1e6, and 1 where a Gaussian is sampled with q < 1; the scaled parameters lie in mechanism.hpp's ranges. Throws
/// UsageError naming the mechanism and the argument.
std::vector<RepeatedMechanism> run_for(std::span<const RepeatedMechanism> run, const Neighbors& neighbors);

/// The sum of all rho: mu^2/2, epsilon^2/8 (exponential mechanism), epsilon^2/2 (pure DP), rounded up; empty
/// if a Gaussian is sampled. Precondition: require_run. Throws UsageError.
std::optional<double> zcdp_of_run(std::span<const RepeatedMechanism> run);

/// sqrt(sum count mu^2), rounded up, if all mechanisms are Gaussians, else empty. Precondition: require_run. Throws
/// UsageError.
std::optional<double> gdp_of_run(std::span<const RepeatedMechanism> run);

/// epsilon at delta under every accountant. Preconditions: as run_for; kSmallestPldDelta <= delta < 1. Throws
/// UsageError naming the argument.
ComposedEpsilon compose_epsilon(std::span<const RepeatedMechanism> run, double delta, const Neighbors& neighbors = {});

}  // namespace dpreduce
