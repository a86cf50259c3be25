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
#include "common/data/row_weights.hpp"
#include "common/data/sharded_array.hpp"
#include "common/data/worker_rows.hpp"
#include "common/randomness/keyed_hash.hpp"

namespace dpreduce {

/// Numbers by hash: open addressing, at most half of the slots full.
template <typename Hash>
class NumbersByHash {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  NumbersByHash();

  void prefetch(Hash hash) const;
  /// A number that may be that of this hash, or kNone.
  std::uint32_t guess(Hash hash) const { return slots_[home_of(hash)].number; }
  /// The number with this hash for which is_same(number) holds, or kNone.
  template <typename IsSame>
  std::uint32_t find(Hash hash, const IsSame& is_same) const {
    for (std::size_t place = home_of(hash); slots_[place].number != kNone; place = (place + 1) & (slots_.size() - 1)) {
      if (slots_[place].hash == hash && is_same(slots_[place].number)) return slots_[place].number;
    }
    return kNone;
  }
  /// Precondition: it is not there.
  void add(Hash hash, std::uint32_t number);

 private:
  struct Slot {
    Hash hash;
    std::uint32_t number;
  };

  std::size_t home_of(Hash hash) const { return hash & (slots_.size() - 1); }
  void put(const Slot& slot);

  std::vector<Slot> slots_;  // where hashes say or behind
  std::size_t full_ = 0;
};

/// Names by number, in the order in which they were first asked for. Memory: 40 to 72 bytes of a name that is an
/// integer, 65 to 100 of another, and its text where that has more than 15 bytes. To find a name takes one look into
/// memory, or two for a text, which those of some hundred at once do not wait for.
class NumberedNames {
 public:
  /// The number of each name, in their order; of a new one size(), which grows. Precondition (asserted): fewer than
  /// 2^32 - 1 names.
  std::vector<std::uint32_t> numbers_of(std::span<const std::string_view> names);
  /// The same of integers: the numbers of their decimal digits.
  std::vector<std::uint32_t> numbers_of(std::span<const std::int64_t> integers);
  std::size_t size() const { return places_.size(); }
  /// The name with this number. Precondition: it is less than size().
  std::string operator[](std::size_t number) const;

 private:
  std::uint32_t number_of(std::int64_t integer, std::uint64_t hash);
  std::uint32_t number_of(std::string_view text, std::uint32_t hash);
  std::uint32_t next_number(std::int64_t place);

  std::vector<std::int64_t> places_;  // by number: the integer, or where its text is
  std::vector<bool> are_texts_;       // by number
  std::vector<std::string> texts_;
  std::vector<std::uint32_t> numbers_of_texts_;
  NumbersByHash<std::uint64_t> by_integer_;
  NumbersByHash<std::uint32_t> by_text_;  // places among texts_
};

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

  /// Where a person stands, or would.
  std::size_t place_of(const PersonHash& person) const;
  /// Of a person who is there; else nothing.
  std::optional<std::uint64_t> rows_of(const PersonHash& person) const;
};

/// Some rows, by person.
struct IdentifiedRows {
  CountedPersons persons;
  std::vector<std::uint32_t> of_rows;  ///< where the person of each row stands among them

  /// weight_of_rows(m, rows_per_person) of each row, m = persons.rows of its person.
  std::vector<RowWeight> weights(std::uint64_t rows_per_person) const;

  /// Numbers persons in the order of their first rows here.
  RowUnits numbered() const;
  /// The same for persons who are clipped here. Whoever counts for more rows than are here has the part here / m, m =
  /// persons.rows. Whoever has more than `most_together` rows (row_units.hpp) is numbered row by row, each with the
  /// part 1 / m. These rows are counted on all ranks where ranks have summed them, else here. Throws BadInput where
  /// there are more than 2^32 - 1 numbers.
  RowUnits numbered_to_clip(std::uint64_t most_together) const;

 private:
  RowUnits numbered_where(const std::vector<char>& is_by_row) const;
};

/// What identifying takes of memory at most, a row: where each has a person of its own, by a text of at most 15 bytes.
inline constexpr std::size_t kMostBytesToIdentify = 128;
/// What weights take of a row, and what its person takes beside where persons are clipped, at most.
inline constexpr std::size_t kBytesOfRowWeight = 4;
inline constexpr std::size_t kBytesOfRowPerson = 36;

/// Of the rows in `range`. Cost: one pass, a hash a person, and a sort of the persons. Memory: 4 bytes a row; meanwhile
/// some 80 bytes a person (kMostBytesToIdentify), and the text of long identifiers. Throws BadInput as
/// ArrayFile::visit_persons, and where there are more than 2^32 - 2 persons.
IdentifiedRows identified(ShardedArray& persons, RowRange range, const KeyedHash& hash);

}  // namespace dpreduce
