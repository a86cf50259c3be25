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
#pragma once

#include <cstdint>
#include <vector>

#include "common/accounting/budget.hpp"
#include "common/accounting/mechanism.hpp"

namespace dpreduce {

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
