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
inline constexpr std::array spellings<Metric>{std::pair{std::string_view{"cosine"}, Metric::kCosine},
                                              std::pair{std::string_view{"euclidean"}, Metric::kEuclidean}};

/// Criterion that features are ranked by: the sum over pairs of classes of the distance between their means.
enum class SelectBy {
  kDistance,
  kT  ///< over the standard deviation within classes
};
template <>
inline constexpr std::array spellings<SelectBy>{std::pair{std::string_view{"distance"}, SelectBy::kDistance},
                                                std::pair{std::string_view{"t"}, SelectBy::kT}};

}  // namespace dpreduce
