// Released means and class sizes, shrunk by their known noise before they are used.
//
// Legend: v~ = v + N is released, N of length p with variance s^2 an entry, so that |v~|^2 is about |v|^2 + p s^2.
// Where p s^2 >= |v~|^2, v~ is noise and nothing else. The positive part of James and Stein's estimator,
//
//     v^ = max(0, 1 - p s^2 / |v~|^2) v~,
//
// is then 0, and is v~ itself where noise is small. It is post-processing and costs no budget. Source: [james1961].
#pragma once

#include <vector>

#include "common/lattice/lattice_rows.hpp"
#include "common/plan/released_block.hpp"

namespace dpreduce {

/// The mean of all rows: the shrunk row_sum over scale n, pulled into the ball of radius C; length d. n is row_count,
/// but at least its own noise and 1. Rows are centered by it: noise longer than the mean would move all of them by a
/// vector longer than they are.
std::vector<double> solve_center(const Release& release, const Lattice& lattice);

/// Sizes of the K classes from noised counts: their mean m, and what each count differs from m, shrunk with p = K - 1;
/// each at least its noise and 1. Where counts differ by no more than noise, classes are of one size.
std::vector<double> solve_class_sizes(const ReleasedBlock& class_counts);

}  // namespace dpreduce
