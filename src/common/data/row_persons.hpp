// Whose rows a worker's rows are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

namespace dpreduce {

/// NumPy's NaT (not a time) as an integer.
inline constexpr std::int64_t kNoPerson = std::numeric_limits<std::int64_t>::min();

/// True of what tables write where an identifier is missing: nothing or white space alone, and nan, NaT, None, NA,
/// <NA>, N/A, #N/A and null, in upper or lower case and with white space around them; also the digits of kNoPerson. All
/// rows that have one would otherwise be one person's.
bool names_no_person(std::string_view identifier);

/// Which part of what a person may add is for their rows here, where others lie at workers that may not see them:
/// count / of. The parts of a person are at most 1 together.
struct PersonPart {
  std::uint32_t count = 1;
  std::uint32_t of = 1;
  bool operator==(const PersonPart&) const = default;
};

/// The largest `count`.
inline constexpr std::uint64_t kMostCountOfPart = 65536;

/// here / counted for a person with `here` rows at this worker whose rows count as `counted` in all, in lowest terms;
/// rounded down where these numbers are too large. Precondition (asserted): here <= counted.
PersonPart part_of_person(std::uint64_t here, std::uint64_t counted);

/// The most rows of a person that are clipped together, of rows of `dim` features: public, so that neither memory nor
/// time depend on who has most. At most 4096, at least 256, and 32 MiB of floats and integers where these are not
/// passed.
std::uint64_t most_rows_clipped_together(std::size_t dim);

/// The parts of persons, by number.
using PersonParts = std::vector<PersonPart>;

/// Persons are numbered by each worker for itself, in the order of their first rows there. Whoever has more rows than
/// are clipped together has a number for each row instead, with an equal part.
struct RowPersons {
  std::vector<std::uint32_t> of_rows{};     ///< the person of every row of the worker
  std::vector<std::uint64_t> first_rows{};  ///< of every person: place of their first row among the rows of all workers
  bool are_whole = false;                   ///< whether all rows of a person that may lie together are this worker's
  std::shared_ptr<const PersonParts> parts{};  ///< where persons have rows elsewhere; none: the whole
};

}  // namespace dpreduce
