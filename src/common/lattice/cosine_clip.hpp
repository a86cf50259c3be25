// How alike two lattice rows are, in exact integers between public bounds.
//
//     s(q, z) = S^2 + <q, z>, in [0, 2 S^2]            1 + cos(q, z) in units of 1 / S^2, for rows of length near S
//     u(q, z) = clip(s(q, z), lower, upper) - lower    in [0, upper - lower]
//
// Rows on the lattice are a little shorter than S (lattice_rows.hpp), at d = 1280 by 0.06 %: cosines are read short by
// twice that. Source: [wahdany2025], DPPL-Public, its distance clipped to [d_min, d_max].
#pragma once

#include <cstdint>

#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {

struct CosineClip {
  std::int64_t lower = 0;
  std::int64_t upper = 2 * kLatticeNorm * kLatticeNorm;

  /// Whether some pair of rows is clipped: if not, sums of u are sums of <q, z> but for a constant.
  bool is_active() const { return lower > 0 || upper < 2 * kLatticeNorm * kLatticeNorm; }
  /// The most that u may be.
  std::uint64_t range() const { return static_cast<std::uint64_t>(upper - lower); }
};

/// lower = round(d_min S^2), upper = round(d_max S^2). Throws UsageError unless 0 <= d_min < d_max <= 2, and they are
/// apart on the lattice.
CosineClip cosine_clip(double d_min, double d_max);

}  // namespace dpreduce
