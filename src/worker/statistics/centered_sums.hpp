// Rows about a public center, clipped to a public ball: what "centred_sums" and "center_rest" sum.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/lattice/lattice_rows.hpp"
#include "worker/statistic_inputs.hpp"

namespace dpreduce {

/// Centers and radii in lattice units. Entries of centers are held to 2^20, so that differences from rows stay within
/// 32 bits and their squares within 64.
struct LatticeBalls {
  LatticeBalls(const ClassBalls& balls, const Lattice& lattice);

  std::vector<std::int32_t> centers;
  std::vector<double> radii;
};

/// q = round_to_zero(f v), v = row - center, f = S / max(|v|, radius): the row about its center on the ball's own
/// lattice. ||q||^2 <= S^2, checked in integers; a row that failed would become zeros. Cost: 4 d multiply-adds.
/// Preconditions: equal sizes.
void center_row(std::span<const std::int16_t> row, std::span<const std::int32_t> center, double radius,
                std::span<std::int16_t> q);

}  // namespace dpreduce
