// Storage of the classes of a row: k slots per row, k the largest number of classes of a row.
//
//     {3, 7, -1, -1}   the classes 3 and 7, ascending, then kNoLabel        k = 4
//     {-1, -1, -1, -1} a row of no class
//     {-6, -1, -1, -1} a row of 6 classes, more than there are slots: it has to stop the run, or to count nowhere
//     {kUnlistedLabel} a row of a class that is not listed, where the list is no word of the file's owner: likewise
//
// One class index a row is k = 1. n rows are n x k slots, row-major, 4 k bytes a row whatever the number of classes.
//
// For rows with numbers to predict in the place of classes, two slots hold the bits of each number, a double: k = 2 m
// for m targets.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "common/base/described_types.hpp"

namespace dpreduce {

/// A slot without a class.
inline constexpr std::int32_t kNoLabel = -1;
/// The slot of a row whose label is none of those that are listed.
inline constexpr std::int32_t kUnlistedLabel = std::numeric_limits<std::int32_t>::min();

/// Treatment of a label that is not listed.
enum class UnlistedLabels {
  kRefused,     ///< the run stops at the rank that holds it: who owns the file has stated the list
  kTaken,       ///< its row counts nowhere, or as wrong: else who brings the list learns whether there is such a row
  kInAnyNumber  ///< the same, and of a row of more labels than others allow
};
template <>
inline constexpr auto spellings<UnlistedLabels> = spelled<UnlistedLabels>("refused", "taken", "in-any-number");

/// The slots of row `row` among those of all rows.
inline std::span<const std::int32_t> slots_of(std::span<const std::int32_t> slots, std::size_t per_row,
                                              std::size_t row) {
  return slots.subspan(row * per_row, per_row);
}

/// The classes in the slots of one row, ascending.
inline std::span<const std::int32_t> classes_in(std::span<const std::int32_t> row_slots) {
  const auto end = std::find_if(row_slots.begin(), row_slots.end(), [](std::int32_t slot) { return slot < 0; });
  return row_slots.first(static_cast<std::size_t>(end - row_slots.begin()));
}

/// The number of classes of a row that has more of them than slots; 0 where they fit.
inline std::size_t surplus_classes(std::span<const std::int32_t> row_slots) {
  const bool is_surplus = !row_slots.empty() && row_slots.front() < kNoLabel;
  return is_surplus ? static_cast<std::size_t>(-std::int64_t{row_slots.front()}) : 0;
}

/// Slots that a target takes.
inline constexpr std::size_t kSlotsPerTarget = sizeof(double) / sizeof(std::int32_t);

/// Target `place` of the row with these slots.
inline double target_in(std::span<const std::int32_t> row_slots, std::size_t place) {
  double target = 0.0;
  std::memcpy(&target, &row_slots[place * kSlotsPerTarget], sizeof(target));
  return target;
}

/// Returns whether all targets in these slots are numbers.
inline bool are_finite_targets(std::span<const std::int32_t> row_slots) {
  for (std::size_t place = 0; place < row_slots.size() / kSlotsPerTarget; ++place) {
    if (!std::isfinite(target_in(row_slots, place))) return false;
  }
  return true;
}

}  // namespace dpreduce
