// Rows by person, from the identifiers in files: who has rows here, and whose each row is. No name is kept.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/data/row_units.hpp"
#include "common/data/sharded_array.hpp"
#include "common/data/worker_rows.hpp"
#include "common/randomness/keyed_hash.hpp"
#include "common/randomness/random_stream.hpp"

namespace dpreduce {

/// The upper 112 bits of the keyed hash of a person's identifier; the lower 16 of `low` are 0.
struct PersonHash {
  static constexpr std::uint64_t kUnused = 0xffff;  ///< of `low`

  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const PersonHash&) const = default;
};

/// Persons, sorted, each once, with how many rows each has.
struct CountedPersons {
  std::vector<PersonHash> persons;
  std::vector<std::uint64_t> rows;          ///< of all ranks, once they are summed
  std::vector<std::uint64_t> first_rows{};  ///< places among the rows of all ranks; where coins are needed
  std::vector<std::uint32_t> owners{};      ///< ranks that have most rows; once rows are summed over ranks

  /// Position of a person, or the one where the person would be inserted.
  std::size_t place_of(const PersonHash& person) const;
  /// Number of rows of a person who is listed; else nullopt.
  std::optional<std::uint64_t> rows_of(const PersonHash& person) const;
};

/// Some rows, grouped by person.
struct IdentifiedRows {
  CountedPersons persons;
  std::vector<std::uint32_t> of_rows;  ///< where the person of each row stands among them

  /// weight_of_rows(m, rows_per_person) of each row, m = persons.rows of its person.
  std::vector<RowWeight> weights(std::uint64_t rows_per_person) const;

  /// Numbers persons in the order of their first rows here.
  RowUnits numbered() const;
  /// Numbers persons who are clipped here, in the same order. A person who counts for more rows than are here has the
  /// part here / m, m = persons.rows. A person with more than `most_together` rows (row_units.hpp) is numbered row by
  /// row, each with the part 1 / m. These rows are counted on all ranks if ranks have summed them, else here. Throws
  /// BadInput if there are more than 2^32 - 1 numbers.
  RowUnits numbered_to_clip(std::uint64_t most_together) const;

 private:
  RowUnits numbered_where(const std::vector<char>& is_by_row) const;
};

/// Most bytes of memory that identifying uses per row: if each has a person of its own, by a text of at most 15 bytes.
inline constexpr std::size_t kMostBytesToIdentify = 160;
/// Most bytes that a row's weight uses, and that its person uses in addition if persons are clipped.
inline constexpr std::size_t kBytesOfRowWeight = 4;
inline constexpr std::size_t kBytesOfRowPerson = 36;

/// The keyed hash whose key is the next 32 bytes of `stream`. Throws EntropyFailure.
KeyedHash person_hash(RandomStream stream);

/// The rows in `range` by person. Cost: one pass, a hash a person, and a sort of the persons. Memory: 4 bytes a row;
/// meanwhile some 100 bytes a person (kMostBytesToIdentify), and the text of long identifiers. Throws BadInput as
/// ArrayFile::visit_persons, and where there are more than 2^32 - 2 persons.
IdentifiedRows identified(ShardedArray& persons, RowRange range, const KeyedHash& hash);

}  // namespace dpreduce
