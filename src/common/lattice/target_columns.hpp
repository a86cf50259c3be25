// Numbers to predict, as a row's columns beside its features.
//
// Legend: y the m targets of a row, c and h their public (or released) centers and scales:
//
//     v_t = clamp((y_t - c_t) / h_t, -1, 1)        y' = v / max(1, |v|_2)
//
// so that |y'| <= 1 whatever the row holds; of a NaN v_t is -1. It reads one row and public constants only, in a fixed
// order of double operations, as the transform of features does (row_transform.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dpreduce {

struct TargetColumns {
  std::size_t count = 0;         ///< m; 0: rows have classes
  std::vector<double> center{};  ///< c; empty until it is known
  std::vector<double> scale{};   ///< h, above 0; as many
  double share = 0.0;            ///< b: of a row's C^2, for y'; 0: it is no part of the row

  bool operator==(const TargetColumns&) const = default;

  /// Writes y' (m entries) of the row with these label slots (label_slots.hpp). Preconditions: c and h are known; as
  /// many slots as m targets take.
  void scaled(std::span<const std::int32_t> row_slots, std::span<double> out) const;
  /// The same of targets, m numbers, in the place of slots.
  void scaled_numbers(std::span<const double> targets, std::span<double> out) const;
};

/// Middles and half widths of ranges.
struct Ranges {
  std::vector<double> middle;
  std::vector<double> half;
};

/// Of lo_1, hi_1, lo_2, hi_2, ..., one for each of `count` columns, or one for all. Throws UsageError naming the option
/// where there are neither two numbers nor twice as many, one is not finite, or a range is empty.
Ranges ranges_of(const char* option, std::span<const double> ranges, std::size_t count);

/// m targets with those ranges: c their middles, h half their widths times sqrt(m), so that no row whose targets are
/// within them is clipped.
TargetColumns target_columns(Ranges ranges);

}  // namespace dpreduce
