// Rows grouped by person, from the identifiers in files: the persons with rows here, and the person of each row. No
// name is kept.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/data/row_units.hpp"
#include "common/data/sharded_array.hpp"
#include "common/data/worker_rows.hpp"
#include "common/randomness/keyed_hash.hpp"
#include "common/randomness/random_stream.hpp"

namespace dpreduce {

/// Upper 112 bits of the keyed hash of a person's identifier; the lower 16 bits of `low` are 0.
struct PersonHash {
  static constexpr std::uint64_t kUnused = 0xffff;  ///< unused bits of `low`

  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const PersonHash&) const = default;
};

/// Persons, sorted, each once, with the number of rows of each.
struct CountedPersons {
  std::vector<PersonHash> persons;
  std::vector<std::uint64_t> rows;          ///< summed over all ranks, once ranks have summed them
  std::vector<std::uint64_t> first_rows{};  ///< places among the rows of all ranks; present if coins are needed
  std::vector<std::uint32_t> owners{};      ///< ranks with most rows of each person; once rows are summed over ranks

  /// Position of a person in `persons`, or the position at which the person would be inserted.
  std::size_t place_of(const PersonHash& person) const;
  /// Number of rows of a listed person; nullopt for a person who is not listed.
  std::optional<std::uint64_t> rows_of(const PersonHash& person) const;
};

/// Rows grouped by person.
struct IdentifiedRows {
  CountedPersons persons;
  std::vector<std::uint32_t> of_rows;  ///< index of each row's person in `persons`

  /// Weights of the rows: weight_of_rows(m, rows_per_person), m = persons.rows of the row's person.
  std::vector<RowWeight> weights(std::uint64_t rows_per_person) const;

  /// Numbers persons in the order of their first rows here.
  RowUnits numbered() const;
  /// Numbers persons who are clipped here, in the same order. A person who counts for more rows than are here has the
  /// part here / m, m = persons.rows. A person with more than `most_together` rows (row_units.hpp) is numbered row by
  /// row, each row with the part 1 / m; these rows are counted over all ranks if ranks have summed them, else here.
  /// Throws BadInput if there are more than 2^32 - 1 numbers.
  RowUnits numbered_to_clip(std::uint64_t most_together) const;

 private:
  RowUnits numbered_where(const std::vector<char>& is_by_row) const;
};

/// Largest number of bytes that identifying uses per row: if each row has its own person, identified by at most 15
/// bytes.
inline constexpr std::size_t kMostBytesToIdentify = 160;
/// Bytes of a row's weight, and bytes in addition for the row's person if persons are clipped (upper bounds).
inline constexpr std::size_t kBytesOfRowWeight = 4;
inline constexpr std::size_t kBytesOfRowPerson = 36;

/// Keyed hash whose key is the next 32 bytes of `stream`. Throws EntropyFailure.
KeyedHash person_hash(RandomStream stream);

/// Groups the rows in `range` by person. Cost: one pass, a hash a person, and a sort of the persons. Memory: 4 bytes a
/// row; during the pass some 100 bytes a person (kMostBytesToIdentify), and the text of long identifiers. Throws
/// BadInput as ArrayFile::visit_persons, and if there are more than 2^32 - 2 persons.
IdentifiedRows identified(ShardedArray& persons, RowRange range, const KeyedHash& hash);

}  // namespace dpreduce
