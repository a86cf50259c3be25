// Public bins for the sizes of numbers of any kind, by which a range is found (worker/statistics/sizes.cpp).
//
//     round 1, of y:          sign(y), floor(log2 |y|) from -60 to 60; one bin for all nearer to 0
//     round 2, of |y - m|:    floor(2 log2 |y - m|) from -120 to 120, which is by factors of sqrt(2); one bin below
//
// Beyond the last bins numbers count in these. Both rounds have as many bins.
//
// Lengths of residuals have bins by factors of sqrt(2) from 2^-6 to 2^1.5, and one below and one above.
#pragma once

#include <cstddef>
#include <utility>

namespace dpreduce {

inline constexpr std::size_t kColumnBins = 243;

/// The bin of `value` in round 1. A NaN counts as 0.
std::size_t signed_bin(double value);
/// From where to where bin `bin` of round 1 reaches.
std::pair<double, double> edges_of_signed_bin(std::size_t bin);

/// The bin of `distance` >= 0 in round 2.
std::size_t distance_bin(double distance);
/// Where bin `bin` of round 2 ends.
double upper_edge_of_distance(std::size_t bin);

inline constexpr std::size_t kResidualBins = 17;

/// The bin of a residual of that length.
std::size_t residual_bin(double length);
/// 2^(bin / 2 - 6); the last bin has no end, and this is where it would be.
double upper_edge_of_residual(std::size_t bin);

}  // namespace dpreduce
