// How much a row counts, where a unit of privacy may have several rows, or where its owner states a weight.
//
// Legend: a unit has m rows, B (public) is what a unit's rows count for together, in rows; J = 2^24.
//
//     w(m) = floor(J min(1, B / m))        a row's weight, in units of 1 / J
//
// so that m w(m) <= B J: a unit's rows weigh at most B rows. It is J, a whole row, for m <= B.
#pragma once

#include <cstdint>

namespace dpreduce {

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

/// floor(J weight / bound), of a weight that its owner states. Preconditions: 0 <= weight <= bound; bound > 0, finite.
constexpr RowWeight weight_of_stated(float weight, float bound) {
  return static_cast<RowWeight>(static_cast<double>(weight) / static_cast<double>(bound) * kWholeRow);
}

}  // namespace dpreduce
