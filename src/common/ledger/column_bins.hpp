// Public bins for the sizes of numbers of any kind, by which a range is found (worker/statistics/sizes.cpp).
//
//     sizes, of y:            sign(y), floor(log2 |y|) from -60 to 60; one bin for all nearer to 0
//     places, of (y - c) / w: equal bins from -1 to 1, and one beyond each end
//     spreads, of |y - m|:    floor(2 log2 |y - m|) from -120 to 120, which is by factors of sqrt(2); one bin below
//
// Beyond the last bins numbers count in these. All three have as many bins.
//
// Lengths of residuals have bins by factors of sqrt(2) from 2^-6 to 2^1.5, and one below and one above.
#pragma once

#include <cstddef>
#include <utility>

namespace dpreduce {

inline constexpr std::size_t kColumnBins = 243;

/// The bin of sizes of `value`. A NaN counts as 0.
std::size_t signed_bin(double value);
/// Edges, from and to, of that bin of sizes.
std::pair<double, double> edges_of_signed_bin(std::size_t bin);

/// The bin of places of `value`, in units of w about c. A NaN counts as below all.
std::size_t place_bin(double value);
/// Edges, from and to, of that bin of places, except of the first and the last one.
std::pair<double, double> edges_of_place(std::size_t bin);

/// The bin of spreads of `distance` >= 0.
std::size_t distance_bin(double distance);
/// Upper edge of that bin of spreads.
double upper_edge_of_distance(std::size_t bin);

/// Lengths of rows have bins by factors of 2^(1/8) from 2^-60 to 2^60, and one below; longer rows are in the last one.
inline constexpr std::size_t kLengthBins = 961;

/// The bin of a row of that length.
std::size_t length_bin(double length);
/// Upper end of that bin of lengths.
double upper_edge_of_length(std::size_t bin);

/// Returns whether a column from c - h to c + h has 0 for an end.
constexpr bool has_zero_end(double center, double scale) {
  return center == scale || center == -scale;
}

inline constexpr std::size_t kResidualBins = 17;

/// Bin of a residual of that length.
std::size_t residual_bin(double length);
/// Upper edge 2^(bin / 2 - 6); the last bin has no end, and this is where it would be.
double upper_edge_of_residual(std::size_t bin);

}  // namespace dpreduce
