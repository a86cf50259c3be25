// Preparation of rows by noised sums: the mean that rows are centered by, and the ranges that their columns are scaled
// by. Post-processing.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/lattice/lattice_rows.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/ledger/released_block.hpp"

namespace dpreduce {

// Noised numbers, denoised by their own empirical distribution (empirical Bayes).
//
// Legend: y_a = m_a + N(0, s^2), a = 1..d; the m_a are taken as draws of one unknown law w, on a grid of step s / 8
// over the range of y, to which y is rounded; K(t) = exp(-t^2 / 2). w is found by maximum likelihood, in a fixed number
// of steps of expectation and maximization from the even law, and each y is replaced by the mean of m given y:
//
//     f_y = sum_g K((y - g) / s) w_g,     w_g <- w_g / d sum_a K((y_a - g) / s) / f_{y_a}
//     E[m | y] = sum_g g K((y - g) / s) w_g / f_y
//
// Nothing is found if that distribution is less than e^4 times as likely as zeros with noise: noise alone also fits
// some distribution other than 0. Of a normal law it shrinks as James and Stein do; of few values that many coordinates
// share, or of coordinates of which most are nearly 0, it finds these, and its error is a small part of theirs.
// Post-processing, at no charge. Source: [jiang2009].

/// E[m | y] of each number; nullopt if the numbers cannot be distinguished from noise. Preconditions (asserted): noise
/// s > 0; a number.
std::optional<std::vector<double>> denoised(std::span<const double> noised, double noise);

// The released mean of all rows, denoised before rows are centered by it.
//
// Legend: x a row, of squared length C^2 at most, d features, n rows; m their mean. Each step k releases the sum of
// rows about a public center c_k, clipped to a ball of radius r_k, with noise of variance v_k an entry once it is
// divided by n. c_1 = 0 and r_1 = C: the first step sums whole rows, and counts them. Then
//
//     y = sum_k (c_k + sum_k / n) / v_k / sum_k 1 / v_k,   e = d / sum_k 1 / v_k = E |y - m|^2
//     c = h y,                                             h = max(0, 1 - e / |y|^2)
//     r = g sqrt(C^2 - max(0, |y|^2 - e) + h e)            of the next step, about c: about g sqrt(E |x - c|^2)
//
// If r > .6 C also without h e, the next step is about 0 with r = C, as the first: a smaller ball would save little
// noise, and what it clips are the rows that are far from the mean, which are those of small classes. On a tail of 64
// to 1 in five classes that took 1.7 points of balanced accuracy.
//
// From 64 coordinates on, where e > .02 |y|^2, c is y denoised by the law of its coordinates, if
// one is found; r is by h all the same.
//
// h is the positive part of James and Stein's estimator: where e >= |y|^2, y is noise and nothing else, and centering
// by it would move all rows by a vector longer than they are. h e is its risk. A ball has the noise of the whole rows'
// ball, scaled by r / C, so that a second step knows more of m the longer m is. All of this is post-processing and
// costs no budget. Sources: [james1961]; [biswas2020] for steps in balls that shrink.

class ReleasedCenter {
 public:
  /// Takes release "center": n is row_count, but at least its own noise and 1.
  ReleasedCenter(const Release& release, const Lattice& lattice);
  /// Adds "center_rest", which was taken about the lattice point next to ball_center(), in a ball of radius().
  void add_rest(const Release& release);

  /// c, pulled into the ball of radius C; length d.
  const std::vector<double>& mean() const { return mean_; }
  /// Center and radius of the next step's ball, which is above 0; without noise 2 C, which holds every row.
  const std::vector<double>& ball_center() const { return ball_center_; }
  double radius() const { return radius_; }

 private:
  void add(const ReleasedBlock& sum, double unit);

  Lattice lattice_;
  double count_;
  std::vector<double> weighted_;  // sum_k (c_k + sum_k / n) / v_k
  double precision_ = 0.0;        // sum_k 1 / v_k
  std::vector<double> mean_;
  std::vector<double> ball_center_;
  double radius_ = 0.0;
};

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
