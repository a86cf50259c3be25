// How much a row counts, where the unit of privacy is a person.
//
// Legend: a person has m rows, B (public) is what a person's rows count for together, in rows; J = 2^24.
//
//     w(m) = floor(J min(1, B / m))        a row's weight, in units of 1 / J
//
// so that m w(m) <= B J: a person's rows weigh at most B rows. It is J, a whole row, for m <= B.
#pragma once

#include <cstdint>

namespace dpreduce {

/// A row's weight in units of 2^-24.
using RowWeight = std::uint32_t;

inline constexpr unsigned kWeightBits = 24;
/// J.
inline constexpr RowWeight kWholeRow = RowWeight{1} << kWeightBits;

/// w(m). Preconditions: person_rows >= 1; rows_per_person < 2^32.
constexpr RowWeight weight_of_rows(std::uint64_t person_rows, std::uint64_t rows_per_person) {
  if (person_rows <= rows_per_person) return kWholeRow;
  return static_cast<RowWeight>((rows_per_person << kWeightBits) / person_rows);
}

}  // namespace dpreduce
