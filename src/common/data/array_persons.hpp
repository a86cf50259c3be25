// Identifiers of rows' persons in a file, and those that mean a missing person.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace dpreduce {

// Identifier that means no person in all common formats.

/// NumPy's NaT (not a time) as an integer.
inline constexpr std::int64_t kNoPerson = std::numeric_limits<std::int64_t>::min();

/// Returns whether the text is what tables write for a missing identifier: nothing or white space alone, and nan, NaT,
/// None, NA, <NA>, N/A, #N/A and null, in upper or lower case and with white space around them; also the digits of
/// kNoPerson. All rows that have one would otherwise be one person's.
bool names_no_person(std::string_view identifier);

}  // namespace dpreduce
