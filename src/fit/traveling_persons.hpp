// Persons of rows that lie in the tasks of an engine, where no task sees the rows of another (traveling_plan.hpp).
//
// Legend: p a partition, m_p(u) how many rows of person u it has, m(u) = sum_p m_p(u); s the plan's secret; u stands
// for 112 bits of a keyed hash of a person's identifier under a key made of s. PRF streams of s (noise_key.hpp).
//
//     worker     PersonCounts::sealed      the (u, m_p(u)) of one partition, under PRF(s, "persons", p, nonce), with a
//                                          tag
//     anybody    add                       the list of both; two lists that share a partition do not add
//     driver     opened  ->  PersonTable   m(u) of whoever is in several partitions; a digest of each partition's list
//     worker     count_over_partitions     m(u) of each person here; refused by the partition's name where its list is
//                                          another
//
// m(u) is of all rows, as it is among ranks, so that weights w(m(u)), and with them all sums, are the same bytes. A
// person who is clipped is clipped in each partition, to the part m_p(u) / m(u) of their bound: parts are 1 together,
// and where all rows of each person lie in one partition, sums are the same bytes as well. What a partition had when it
// was counted it must have when it is summed up, or a person could weigh more than B: the digest says so, and sums must
// hold exactly the partitions that were counted. Sealed lists show how many persons a partition has, by their length,
// and nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fit/partial_sum.hpp"
#include "worker/person_rows.hpp"

namespace dpreduce {

/// A keyed hash of words.
using PersonsDigest = std::array<std::uint64_t, 2>;

struct CountedPartition {
  std::string name;
  PersonsDigest digest{};  ///< keyed, of its persons and their numbers of rows
};

/// A worker must know this to weigh the rows of its partition. As secret as the plan.
struct PersonTable {
  std::vector<CountedPartition> partitions;  ///< sorted by name
  CountedPersons shared;                     ///< m(u) of those in several partitions; others have their rows in one
};

/// The persons of some partitions, sealed.
class PersonCounts {
 public:
  PersonCounts() = default;
  /// Seals what one partition has. Throws UsageError unless its name has 1 to 255 bytes; EntropyFailure.
  static PersonCounts sealed(const CountedPersons& of_partition, const SumTicket& ticket, const std::string& partition);

  /// Adds the partitions of `other`. Throws UsageError naming the partition that is in both; where they are of two
  /// plans.
  void add(const PersonCounts& other);

  /// Throws UsageError where it is of another plan; AggregationAborted where it was changed on the way.
  PersonTable opened(const SumTicket& ticket) const;

  /// Sorted.
  std::vector<std::string> partitions() const;

  /// The bytes for another process, of the same version of the program alone.
  std::string to_bytes() const;
  /// Throws UsageError where another version made them; BadInput where they are damaged, or something else.
  static PersonCounts from_bytes(const std::string& bytes);

  template <typename Archive>
  void serialize(Archive& archive, unsigned version);

 private:
  struct Sealed {
    std::string name;
    std::array<std::uint8_t, 16> nonce{};
    std::vector<std::uint64_t> words;  // high, low and rows of every person, sealed
    PersonsDigest tag{};
    template <typename Archive>
    void serialize(Archive& archive, unsigned version);
  };

  std::array<std::uint8_t, 16> plan_{};
  std::vector<Sealed> partitions_;  // sorted by name
};

/// Rows by the hashes that the key of `ticket` makes of their persons' identifiers; rows of this partition are counted.
IdentifiedRows traveling_persons(ShardedArray& persons, RowRange range, const SumTicket& ticket);

/// The count over all partitions. All arguments outlive it. It throws UsageError where the table does not list the
/// partition; BadInput where that was counted with other persons.
PersonCount count_over_partitions(const PersonTable& table, const SumTicket& ticket, const std::string& partition);

}  // namespace dpreduce
