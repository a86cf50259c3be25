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

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/ledger/statistic.hpp"
#include "common/randomness/noise_key.hpp"

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

/// Throws UsageError unless the name has 1 to 255 bytes.
void require_partition_name(const std::string& partition);
/// Returns whether the name has 1 to 255 bytes.
bool is_partition_name(const std::string& partition);
/// Returns the name as messages show it: other processes may have made the name up.
std::string shown_partition(const std::string& name);

/// Returns whether each partition has a name, and names rise: a partition listed twice would count twice.
template <typename Partition>
bool are_partitions(const std::vector<Partition>& listed) {
  for (std::size_t place = 0; place < listed.size(); ++place) {
    if (!is_partition_name(listed[place].name)) return false;
    if (place > 0 && listed[place].name <= listed[place - 1].name) return false;
  }
  return true;
}

/// Throws UsageError that names the partition; `kind` names what holds it twice, as in "partial sums".
[[noreturn]] void refuse_partition_twice(const std::string& partition, std::string_view kind);

/// Returns the partitions of both lists, by name. Throws UsageError if one partition is in both. Precondition:
/// are_partitions of each.
template <typename Partition>
std::vector<Partition> merged_partitions(const std::vector<Partition>& a, const std::vector<Partition>& b,
                                         std::string_view kind) {
  std::vector<Partition> all;
  std::ranges::merge(a, b, std::back_inserter(all), {}, &Partition::name, &Partition::name);
  const auto twice = std::ranges::adjacent_find(all, {}, &Partition::name);
  if (twice != all.end()) refuse_partition_twice(twice->name, kind);
  return all;
}

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
  /// Partitions, sorted by name.
  const std::vector<SummedPartition>& partitions() const { return partitions_; }

  /// Returns the bytes for another process, which must run the same version of the program. The reader trusts none of
  /// them: anybody may have added the sums up.
  std::string to_bytes() const;
  /// Throws UsageError if another version made the bytes; BadInput if they are damaged, or something else.
  static PartialSum from_bytes(const std::string& bytes);

  template <typename Archive>
  void serialize(Archive& archive, unsigned version);

 private:
  bool is_of(const std::array<std::uint8_t, 16>& session, const std::array<std::uint8_t, 32>& task) const;

  std::array<std::uint8_t, 16> session_{};
  std::uint64_t step_ = 0;
  std::array<std::uint8_t, 32> task_{};
  std::vector<SummedPartition> partitions_;
  std::vector<std::uint64_t> words_;  // of the statistic, four of the fingerprint, partitions with rows; sealed
};

/// Throws UsageError naming the expected partitions that are missing, or the unexpected ones that are there, up to
/// three of each.
void require_partitions(const PartialSum& sum, const std::vector<std::string>& expected);

/// Throws as require_partitions, for partitions by name (`there` is sorted). `where` names in words what holds the
/// partitions.
void require_same_partitions(const std::vector<std::string>& there, const std::vector<std::string>& expected,
                             const char* where);

}  // namespace dpreduce
