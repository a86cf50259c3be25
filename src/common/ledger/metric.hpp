// Comparison of rows and features with class means.
#pragma once

#include "common/base/described_types.hpp"

namespace dpreduce {

/// Comparison of a row with a class mean.
enum class Metric {
  kCosine,    ///< nearest direction; needs class sums only
  kEuclidean  ///< nearest center; needs class sums and counts
};
template <>
inline constexpr auto spellings<Metric> = spelled<Metric>("cosine", "euclidean");

/// Criterion that features are ranked by: the sum over pairs of classes of the distance between their means.
enum class SelectBy {
  kDistance,
  kT  ///< over the standard deviation within classes
};
template <>
inline constexpr auto spellings<SelectBy> = spelled<SelectBy>("distance", "t");

}  // namespace dpreduce
