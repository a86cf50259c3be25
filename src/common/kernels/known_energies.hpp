// Energies of rows that take part in many products, measured once: rows that are kept from round to round.
//
// Legend: as energy_segments.hpp, in units of 1024; q is n x d.
//
//     of_rows[i]          at least max_l sum over k = 2 l, 2 l + 1 mod 32 of q_ik^2       (what a lane of 16 sums)
//     of_columns[s][g]    at least max over columns a of [16 g, 16 g + 16) of the sum of q_ia^2 over rows
//                         [64 s, 64 s + 64)
//
// A kernel of 8 lanes sums two of the first in a lane.
#pragma once

#include <cstdint>
#include <vector>

#include "common/kernels/matrix_view.hpp"

namespace dpreduce {

struct KnownEnergies {
  std::vector<std::uint32_t> of_rows;     ///< n
  std::vector<std::uint32_t> of_columns;  ///< ceil(n / 64) x ceil(d / 16)

  /// `rows`, of which these are the energies; it outlives neither them nor its values. None: as it is.
  Int16View with(Int16View rows) const {
    if (!of_rows.empty()) rows.energies = {of_rows.data(), of_columns.data()};
    return rows;
  }
};

}  // namespace dpreduce
