// Which unit of privacy each row of a worker belongs to: a unit may have several rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dpreduce {

/// Which part of what a unit may add is for its rows here, where others lie at workers that may not see them:
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
UnitPart part_of_unit(std::uint64_t here, std::uint64_t counted);

/// The most rows of a unit that are clipped together, of rows of `dim` features: public, so that neither memory nor
/// time depend on who has most. At most 4096, at least 256, and 32 MiB of floats and integers where these are not
/// passed.
std::uint64_t most_rows_clipped_together(std::size_t dim);

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

}  // namespace dpreduce
