// Exact, sealed statistic of some partitions of the rows, exchanged between processes that are not ranks of one job:
// tasks of Dask, Spark or Ray.
//
// Legend: w_p the words of partition p's statistic; r_p is 1 if p has rows, else 0; e_p the fingerprint part
// (statistic_fingerprint.hpp) of both, in four words; s the session's secret; PRF streams of s (noise_key.hpp).
//
//     sealed     (w_p, e_p, r_p) + PRF(s, "partial sum", task, p, nonce)       mod 2^64, word by word
//     sum        of sealed words, with the list of (p, nonce); lists that share a partition do not add
//     opened     minus the streams of all listed partitions; the fingerprint of the words must equal the received one
//
// A process that adds partial sums up therefore needs no secret and learns nothing: each word belongs to a stream that
// looks random. Opening gives the words of exactly the listed partitions, each once, or nothing. With another list, or
// other words, the fingerprints differ except with probability 2^-126 or less. A task that runs twice draws another
// nonce, so two results of the task never have the same stream.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/ledger/statistic.hpp"
#include "common/randomness/noise_key.hpp"
#include "worker/person_rows.hpp"

namespace dpreduce {

/// Ticket that names the sum which a partial sum belongs to, and holds the secret that opens the sum. Every holder of
/// the ticket can open partial sums: the ticket goes to workers and to the driver, and nowhere else.
struct SumTicket {
  std::array<std::uint8_t, 16> session{};  ///< public
  std::uint64_t step = 0;                  ///< number of the session's step, from 0; public
  std::array<std::uint8_t, 32> task{};     ///< SHA-256 of the task whose statistic is summed up; public
  std::array<std::uint8_t, 32> secret{};

  NoiseKey key() const { return NoiseKey::from_bytes(std::as_bytes(std::span(secret))); }
};

/// Partition that a partial sum contains.
struct SummedPartition {
  std::string name;
  std::array<std::uint8_t, 16> nonce{};
};

/// Returns the name as messages show it: other processes may have made the name up.
std::string shown_partition(const std::string& name);

/// Sealed statistic of some partitions, with their names and nonces.
class PartialSum {
 public:
  PartialSum() = default;
  /// Seals the statistic of one partition, which has rows or none. Throws UsageError unless its name has 1 to 255
  /// bytes; EntropyFailure.
  static PartialSum sealed(const Statistic& of_partition, bool has_rows, const SumTicket& ticket,
                           const std::string& partition);

  /// Adds the partitions of `other`. Throws UsageError naming a partition that is in both sums, or if the sums belong
  /// to two sessions or tasks.
  void add(const PartialSum& other);

  /// Returns the statistic of its partitions, in these blocks. Throws UsageError if the sum belongs to another session
  /// or task; AggregationAborted if its words are not the sum of what its partitions sealed; BadInput if no partition
  /// has a row: such a fit would charge for noise alone.
  Statistic opened(const SumTicket& ticket, std::vector<BlockShape> shape) const;

  std::uint64_t step() const { return step_; }
  /// Names of the partitions, sorted.
  std::vector<std::string> partitions() const;

  /// Returns the bytes for another process, which must run the same version of the program. The reader trusts none of
  /// them: anybody may have added the sums up.
  std::string to_bytes() const;
  /// Throws UsageError if another version made the bytes; BadInput if they are damaged, or something else.
  static PartialSum from_bytes(const std::string& bytes);

  template <typename Archive>
  void serialize(Archive& archive, unsigned version);

 private:
  friend class PersonCounts;
  std::array<std::uint8_t, 16> session_{};
  std::uint64_t step_ = 0;
  std::array<std::uint8_t, 32> task_{};
  std::vector<SummedPartition> partitions_;
  std::vector<std::uint64_t> words_;  // of the statistic, four of the fingerprint, partitions with rows; sealed
};

/// Throws UsageError naming the expected partitions that are missing, or the unexpected ones that are `there` (sorted),
/// up to three of each. `where` names in words what holds the partitions.
void require_partitions(const std::vector<std::string>& there, const std::vector<std::string>& expected,
                        const char* where);

// Persons of rows that are in the tasks of an engine, where no task sees the rows of another (traveling_plan.hpp).
//
// Legend: p a partition; m_p(u) the number of rows of person u in p; m(u) = sum_p m_p(u); s the plan's secret. u is 112
// bits of a keyed hash of a person's identifier, under a key derived from s.
//
//     worker     PersonCounts::sealed      the (u, m_p(u)) of one partition, as the words of a partial sum of no task
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
  static const std::string& name_of(const PartialSum& sealed) { return sealed.partitions_.front().name; }
  static Statistic opened_list(const PartialSum& sealed, const SumTicket& ticket);

  std::array<std::uint8_t, 16> plan_{};
  std::vector<PartialSum> partitions_;  // of one partition each; sorted by its name
};

/// Identifies rows by the hashes that the key of `ticket` makes of their persons' identifiers; counts the rows of this
/// partition.
IdentifiedRows traveling_persons(ShardedArray& persons, RowRange range, const SumTicket& ticket);

/// Returns the count over all partitions. All arguments outlive it. The count throws UsageError if the table does not
/// list the partition; BadInput if the partition was counted with other persons.
PersonCount count_over_partitions(const PersonTable& table, const SumTicket& ticket, const std::string& partition);

}  // namespace dpreduce
