// The units of privacy that rows belong to, and how much a row counts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "common/base/error.hpp"

namespace dpreduce {

// Weight of a row, if a unit of privacy may have several rows, or the owner declares a weight.
//
// Legend: a unit has m rows, B (public) is what a unit's rows count for together, in rows; J = 2^24.
//
//     w(m) = floor(J min(1, B / m))        a row's weight, in units of 1 / J
//
// so that m w(m) <= B J: a unit's rows weigh at most B rows. It is J, a whole row, for m <= B.

/// A row's weight in units of 2^-24.
using RowWeight = std::uint32_t;

inline constexpr unsigned kWeightBits = 24;
/// J.
inline constexpr RowWeight kWholeRow = RowWeight{1} << kWeightBits;

/// w(m). Preconditions: unit_rows >= 1; rows_per_unit < 2^32.
constexpr RowWeight weight_of_rows(std::uint64_t unit_rows, std::uint64_t rows_per_unit) {
  if (unit_rows <= rows_per_unit) return kWholeRow;
  return static_cast<RowWeight>((rows_per_unit << kWeightBits) / unit_rows);
}

/// floor(J weight / bound), of a weight that its owner declares. Preconditions: 0 <= weight <= bound; bound > 0,
/// finite.
constexpr RowWeight weight_of_given(float weight, float bound) {
  return static_cast<RowWeight>(static_cast<double>(weight) / static_cast<double>(bound) * kWholeRow);
}

// Units of privacy that the rows of a worker belong to: a unit may have several rows.

/// Part of what a unit may add that is for its rows here, if other rows of it are at workers that may not see them:
/// count / of. The parts of a unit are at most 1 together.
struct UnitPart {
  std::uint32_t count = 1;
  std::uint32_t of = 1;
  bool operator==(const UnitPart&) const = default;
};

/// The largest `count`.
inline constexpr std::uint64_t kMostCountOfPart = 65536;

/// here / counted for a unit with `here` rows at this worker whose rows count as `counted` in all, in lowest terms;
/// rounded down where these numbers are too large. Precondition (asserted): here <= counted.
inline UnitPart part_of_unit(std::uint64_t here, std::uint64_t counted) {
  DPREDUCE_ASSERT(here <= counted);
  if (here == counted) return {};
  const std::uint64_t common = std::gcd(here, counted);
  std::uint64_t count = here / common;
  std::uint64_t of = counted / common;
  while (count > kMostCountOfPart || of > std::numeric_limits<std::uint32_t>::max()) {
    count /= 2;
    of = of / 2 + of % 2;
  }
  return {static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(of)};
}

/// The largest number of rows of a unit that are clipped together, for rows of `dim` features: public, so that neither
/// memory nor time depend on the largest unit. At most 4096, at least 256, and 32 MiB of floats and integers where
/// these are not passed.
inline std::uint64_t most_rows_clipped_together(std::size_t dim) {
  constexpr std::uint64_t kFewest = 256;
  constexpr std::uint64_t kMost = 4096;
  constexpr std::uint64_t kEntries = std::uint64_t{1} << 22;
  return std::clamp<std::uint64_t>(kEntries / std::max<std::uint64_t>(dim, 1), kFewest, kMost);
}

/// The part of each unit, by its number.
using UnitParts = std::vector<UnitPart>;

/// Units are numbered by each worker for itself, in the order of their first rows there. A unit with more rows than
/// are clipped together has a number for each row instead, with an equal part.
struct RowUnits {
  std::vector<std::uint32_t> of_rows{};      ///< the unit of every row of the worker
  std::vector<std::uint64_t> first_rows{};   ///< of every unit: place of its first row among the rows of all workers
  bool are_whole = false;                    ///< whether all rows of a unit that may lie together are this worker's
  std::shared_ptr<const UnitParts> parts{};  ///< where units have rows elsewhere; none: the whole
};

/// Rows of a worker, those of one unit after the other.
struct RowsByUnit {
  std::vector<std::uint64_t> places{};  ///< of the rows
  std::vector<std::uint64_t> ends{};    ///< of each unit's rows among the places
  std::size_t largest = 0;              ///< rows of the unit that has most
};

}  // namespace dpreduce
