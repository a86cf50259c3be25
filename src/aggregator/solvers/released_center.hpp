// The released mean of all rows, shrunk by its known noise before rows are centered by it.
//
// Legend: v~ = v + N is released, N of length d with variance s^2 an entry, so that |v~|^2 is about |v|^2 + d s^2.
// Where d s^2 >= |v~|^2, v~ is noise and nothing else: centering by it would move all rows by a vector longer than they
// are. The positive part of James and Stein's estimator,
//
//     v^ = max(0, 1 - d s^2 / |v~|^2) v~,
//
// is then 0, and is v~ itself where noise is small. It is post-processing and costs no budget. Source: [james1961].
#pragma once

#include <vector>

#include "common/lattice/lattice_rows.hpp"
#include "common/plan/released_block.hpp"

namespace dpreduce {

/// The mean of all rows: the shrunk row_sum over scale n, pulled into the ball of radius C; length d. n is row_count,
/// but at least its own noise and 1.
std::vector<double> solve_center(const Release& release, const Lattice& lattice);

}  // namespace dpreduce
