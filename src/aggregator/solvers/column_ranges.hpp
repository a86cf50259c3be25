// Ranges of columns from noised histograms (common/ledger/column_bins.hpp).
//
// Legend: of each column the noised counts of its bins, s their noise. What is below 5 s counts as 0, and below 3 s
// near bins that hold more. A run of k = 2, 4 or 8 such bins is seen where its sum is 5 s sqrt(k) or more.
//
//     m       the median, by linear interpolation within its bin of sizes; 0 where nothing is left. Bins of places in a
//             window about it find it more closely where numbers spread little: while all that is left is in at most
//             three bins, the next window is of these
//     h       the end of the first bin of |y - m| behind which at most 2 % of what is left lies; where nothing is left
//             the column is hidden, and h is |m|, or the largest of the other columns, or 1. Where nine in ten of what
//             is left are as far from m as 0 is, m was a bin of noise: the column is hidden, too, and m is 0
//     alike   columns of which the largest |m| + h is at most 16 times the least h; hidden ones are left out. A column
//             of one number, of which h is the first bin's, counts with |m| alone: it may take up most of a row. Of
//             more than 8 columns one alone makes no difference unless it is seen with 6.5 s in the place of 5 s: of
//             many, noise alone shows one
//
// so that one number in a hundred, however large, widens no range. Post-processing of releases "target_sizes",
// "target_places", "target_spreads" and the same of features.
#pragma once

#include <span>
#include <vector>

#include "common/lattice/row_transform.hpp"
#include "common/ledger/released_block.hpp"

namespace dpreduce {

/// m of each column. Precondition (asserted): whole columns of bins.
std::vector<double> column_medians(const ReleasedBlock& sizes);

/// Interval in which the median of each column is looked for: from c - w to c + w.
struct ColumnWindows {
  std::vector<double> medians;  ///< m, as far as they are known
  std::vector<double> centers;  ///< c
  std::vector<double> halves;   ///< w, above 0
};
/// Windows of all of the bin of sizes that m is in, and half as much beside it.
ColumnWindows windows_about(std::vector<double> medians);
/// Windows after a release of places in these windows. Precondition (asserted): as many columns.
ColumnWindows narrowed(ColumnWindows windows, const ReleasedBlock& places);

enum class Evidence { kUsual, kSure };  ///< 5 s, 6.5 s

/// h of each column, from spreads about m; 0 of hidden ones. Precondition (asserted): as many columns as medians.
std::vector<double> column_scales(const ReleasedBlock& spreads, std::span<const double> medians,
                                  Evidence evidence = Evidence::kUsual);

/// Sets to 0 each m that is a bin of noise, as spreads about it show. Precondition (asserted): as many columns.
void forget_false_medians(std::vector<double>& medians, const ReleasedBlock& spreads);

/// C by "row_sizes": upper end of the bin behind which at most 2 % of the seen counts are. 0 if noise hides all. Also
/// 0, unless `takes_alike`, if that bin is fewer than six bins (a factor of 1.7) above the one before which at most 2 %
/// are: rows of about one length are better scaled to it, since noise is relative to the longest row.
double usual_length(const ReleasedBlock& sizes, bool takes_alike);

/// Returns whether most rows are of zeros in columns with 0 for an end, by "row_zeros", beyond twice the noise.
bool are_mostly_zeros(const ReleasedBlock& zeros);

/// Columns of which those with 0 for an end are from 0 to 1, or from -1 to 0: zeros then take up no part of a row. What
/// lies beyond 0 is clipped at the other side's end.
FeatureColumns with_zeros_kept(FeatureColumns columns);

/// Scales of all columns, h of hidden ones included: all above 0. Precondition (asserted): one m and one h each.
std::vector<double> usable_scales(std::span<const double> medians, std::vector<double> scales);

/// Returns whether columns are alike; `sure`: h by Evidence::kSure. Preconditions (asserted): one m and two h each.
bool are_alike(std::span<const double> medians, std::vector<double> scales, std::span<const double> sure);

}  // namespace dpreduce
