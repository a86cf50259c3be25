// Ranges of columns from noised histograms (common/plan/column_bins.hpp).
//
// Legend: of each column the noised counts of its bins, s their noise. What is below 5 s counts as 0, and below 3 s
// near bins that hold more.
//
//     m       the median, by linear interpolation within its bin; 0 where nothing is left
//     h       the end of the first bin of |y - m| behind which at most 2 % of what is left lies; where nothing is left
//             |m|, or 1
//
// so that one number in a hundred, however large, widens no range. Post-processing of releases "target_sizes" and
// "feature_sizes".
#pragma once

#include <span>
#include <vector>

#include "common/plan/released_block.hpp"

namespace dpreduce {

/// m of each column, from round 1. Precondition (asserted): whole columns of bins.
std::vector<double> column_medians(const ReleasedBlock& sizes);

/// h of each column, above 0, from round 2. Precondition (asserted): as many columns as medians.
std::vector<double> column_scales(const ReleasedBlock& sizes, std::span<const double> medians);

}  // namespace dpreduce
