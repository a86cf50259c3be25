// Persons of rows that are in the tasks of an engine, where no task sees the rows of another (traveling_plan.hpp).
//
// Legend: p a partition; m_p(u) the number of rows of person u in p; m(u) = sum_p m_p(u); s the plan's secret. u is 112
// bits of a keyed hash of a person's identifier, under a key derived from s. PRF streams of s (noise_key.hpp).
//
//     worker     PersonCounts::sealed      the (u, m_p(u)) of one partition, under PRF(s, "persons", p, nonce), with a
//                                          tag
//     any        add                       both lists; two lists that share a partition do not add
//     driver     opened  ->  PersonTable   m(u) of each person in several partitions; a digest of each partition's list
//     worker     count_over_partitions     m(u) of each person here; refused, naming the partition, if its list differs
//
// m(u) counts all rows, as it does among ranks: weights w(m(u)), and therefore all sums, are the same bytes. A person
// who is clipped is clipped in each partition, to the part m_p(u) / m(u) of the person's bound. The parts add up to 1.
// If all rows of each person are in one partition, sums are the same bytes as well. A partition must hold the same rows
// when it is summed up as when it was counted, or a person could weigh more than B. The digest checks this, and sums
// must hold exactly the partitions that were counted. The length of a sealed list shows how many persons a partition
// has; the list shows nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fit/partial_sum.hpp"
#include "worker/person_rows.hpp"

namespace dpreduce {

/// Keyed hash of words.
using PersonsDigest = std::array<std::uint64_t, 2>;

/// Partition whose persons were counted.
struct CountedPartition {
  std::string name;
  PersonsDigest digest{};  ///< keyed, of its persons and their numbers of rows
};

/// Counts that a worker needs to weigh the rows of its partition. As secret as the plan.
struct PersonTable {
  std::vector<CountedPartition> partitions;  ///< sorted by name
  CountedPersons shared;                     ///< m(u) of persons in several partitions; others have all rows in one
};

/// Sealed counts of the persons of some partitions.
class PersonCounts {
 public:
  PersonCounts() = default;
  /// Seals the counts of one partition. Throws UsageError unless its name has 1 to 255 bytes; EntropyFailure.
  static PersonCounts sealed(const CountedPersons& of_partition, const SumTicket& ticket, const std::string& partition);

  /// Adds the partitions of `other`. Throws UsageError naming a partition that is in both, or if the counts belong to
  /// two plans.
  void add(const PersonCounts& other);

  /// Returns the opened counts. Throws UsageError if they belong to another plan; AggregationAborted if they were
  /// changed in transit.
  PersonTable opened(const SumTicket& ticket) const;

  /// Names of the partitions, sorted.
  std::vector<std::string> partitions() const;

  /// Returns the bytes for another process, which must run the same version of the program.
  std::string to_bytes() const;
  /// Throws UsageError if another version made the bytes; BadInput if they are damaged, or something else.
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

/// Identifies rows by the hashes that the key of `ticket` makes of their persons' identifiers; counts the rows of this
/// partition.
IdentifiedRows traveling_persons(ShardedArray& persons, RowRange range, const SumTicket& ticket);

/// Returns the count over all partitions. All arguments outlive it. The count throws UsageError if the table does not
/// list the partition; BadInput if the partition was counted with other persons.
PersonCount count_over_partitions(const PersonTable& table, const SumTicket& ticket, const std::string& partition);

}  // namespace dpreduce
