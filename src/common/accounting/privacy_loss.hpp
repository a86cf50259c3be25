// Privacy loss distributions: epsilon of a whole run, between two certain bounds.
//
// The upper bound holds for the adaptive composition of the run's mechanisms, in both directions of add/remove. The
// lower bound is attained by a run of these kinds and parameters: exactly those mechanisms for Gaussian, sampled
// Gaussian and randomized response; one particular exponential mechanism (loss_law.hpp). Hence, for the first three,
// the best possible guarantee lies in between.
//
// Losses are discretized with an H that lies above (below) the true one (loss_grid.hpp), their sum is computed by
// tilted Fourier transforms with error bounds (composed_loss.hpp). The grid is chosen from delta and the run.
#pragma once

#include <cstddef>
#include <span>

#include "common/accounting/mechanism.hpp"

namespace dpreduce {

struct PrivacyLossBounds {
  double lower;
  double upper;
};

/// Deltas below are not computed: masses would leave the range of double.
inline constexpr double kSmallestPldDelta = 1e-200;

/// Size of the grid: a bound on the cells of one loss, and on the cells of the window that holds the composed one.
inline constexpr std::size_t kPldCells = std::size_t{1} << 20;

/// lower <= min{epsilon >= 0 : delta(epsilon) <= delta} <= upper; upper is never above the best Renyi order's epsilon.
///
/// The lower bound may be far from upper if losses are rare and large (q below about 1e-4 with z below about 1.2).
/// Preconditions: require_run; kSmallestPldDelta <= delta < 1; 2^10 <= cells <= 2^24. Throws UsageError naming the
/// argument.
PrivacyLossBounds pld_epsilon(std::span<const RepeatedMechanism> run, double delta, std::size_t cells = kPldCells);

/// The upper bound alone, at half the cost.
double pld_epsilon_upper(std::span<const RepeatedMechanism> run, double delta, std::size_t cells = kPldCells);

}  // namespace dpreduce
