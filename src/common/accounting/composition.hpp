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

#include "common/accounting/budget.hpp"
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

// The smallest noise with which a whole run meets (epsilon, delta).
//
//   T    steps
//   q    Poisson sampling rate of every step; 1 for all records in every step
//   z    noise multiplier of every step, the same
//
// The run may contain other mechanisms beside the steps, with noise that is already fixed.
//
// The answer was checked: the accountant's epsilon at it is at most the one requested. It is rounded up, and at most
// the tolerance above the smallest that the accountant would accept.

struct CalibrationTarget {
  double epsilon;
  double delta;
  std::uint64_t steps = 1;
  double sampling_rate = 1;
  std::vector<RepeatedMechanism> beside{};  ///< what else the run holds
  bool is_exchange = false;                 ///< neighbors differ by an exchange; z is still that of one record

  bool operator==(const CalibrationTarget&) const = default;
};

/// z for (epsilon, delta) of T steps at rate q.
///
/// kGdp and kZcdp invert exactly: z = sqrt(T) / mu. They need q = 1. kRdp and kPld search, to 1e-6 and 1e-5 relative;
/// where even the smallest multiplier in range meets the target, they return that one. What stands beside the steps is
/// for these two. Preconditions: 0 < epsilon <= kLargestEpsilon; 0 < delta < 1, for kPld at least kSmallestPldDelta; an
/// exchange only where rounds are sampled; 1 <= steps <= kLargestCount; kSmallestSamplingRate <= sampling_rate <= 1,
/// and 1 for kGdp and kZcdp; the answer lies in mechanism.hpp's range; nothing beside the steps for kGdp and kZcdp,
/// else require_run. Throws UsageError naming the argument. A search takes seconds: the last answers are remembered.
double calibrated_noise_multiplier(const CalibrationTarget& target, Accountant accountant);

}  // namespace dpreduce
