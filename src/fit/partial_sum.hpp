// An exact statistic of some partitions of the rows, on its way between processes that are not ranks of one job: tasks
// of Dask, Spark or Ray.
//
// Legend: w_p the words of partition p's statistic; r_p is 1 where it has rows, else 0; e_p the fingerprint part
// (statistic_fingerprint.hpp) of both, in four words; s the session's secret; PRF streams of s (noise_key.hpp).
//
//     sealed     (w_p, e_p, r_p) + PRF(s, "partial sum", task, p, nonce)       mod 2^64, word by word
//     sum        of sealed words, with the list of (p, nonce); lists that share a partition do not add
//     opened     less the streams of all that are listed; then the words' own fingerprint must be the one that came
//
// So whoever adds partial sums up needs no secret and learns nothing: each word is one of a stream that looks random.
// Opening gives the words of exactly the listed partitions, each once, or nothing. With another list, or other words,
// the fingerprints differ but with probability 2^-126 or less. A task that runs twice draws another nonce, so two
// results of it are never the same stream.
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

/// Names the sum that a partial sum is of, and has the secret that opens it. Whoever has it can open partial sums: it
/// goes to workers and to the driver, and nowhere else.
struct SumTicket {
  std::array<std::uint8_t, 16> session{};  ///< public
  std::uint64_t step = 0;                  ///< of the session, from 0; public
  std::array<std::uint8_t, 32> task{};     ///< SHA-256 of what is summed up; public
  std::array<std::uint8_t, 32> secret{};

  NoiseKey key() const { return NoiseKey::from_bytes(std::as_bytes(std::span(secret))); }
};

/// A partition that a partial sum holds.
struct SummedPartition {
  std::string name;
  std::array<std::uint8_t, 16> nonce{};
};

/// Throws UsageError unless the name has 1 to 255 bytes.
void require_partition_name(const std::string& partition);
bool is_partition_name(const std::string& partition);
/// The name in a message: others may have made it up.
std::string shown_partition(const std::string& name);

/// Returns whether each has a name, and names rise: a partition that is listed twice would count twice.
template <typename Partition>
bool are_partitions(const std::vector<Partition>& listed) {
  for (std::size_t place = 0; place < listed.size(); ++place) {
    if (!is_partition_name(listed[place].name)) return false;
    if (place > 0 && listed[place].name <= listed[place - 1].name) return false;
  }
  return true;
}

/// Throws UsageError; `kind` names what holds the partition twice, as in "partial sums".
[[noreturn]] void refuse_partition_twice(const std::string& partition, std::string_view kind);

/// The partitions of both lists, by name. Throws UsageError where one partition is in both. Precondition:
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

class PartialSum {
 public:
  PartialSum() = default;
  /// Seals the statistic of one partition, which has rows or none. Throws UsageError unless its name has 1 to 255
  /// bytes; EntropyFailure.
  static PartialSum sealed(const Statistic& of_partition, bool has_rows, const SumTicket& ticket,
                           const std::string& partition);

  /// Adds the partitions of `other`. Throws UsageError naming the partition that is in both; where they are of two
  /// sessions or tasks.
  void add(const PartialSum& other);

  /// The statistic of its partitions, in these blocks. Throws UsageError where it is of another session or task;
  /// AggregationAborted where its words are not the sum of what its partitions sealed; BadInput where none of them has
  /// a row: such a fit would charge for noise alone.
  Statistic opened(const SumTicket& ticket, std::vector<BlockShape> shape) const;

  std::uint64_t step() const { return step_; }
  /// Sorted by name.
  const std::vector<SummedPartition>& partitions() const { return partitions_; }

  /// The bytes for another process, of the same version of the program alone. Nothing of them is trusted when they are
  /// read back: who adds sums up may be anybody.
  std::string to_bytes() const;
  /// Throws UsageError where another version made them; BadInput where they are damaged, or something else.
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

/// Throws UsageError naming what is missing, or there without being expected, up to three of each.
void require_partitions(const PartialSum& sum, const std::vector<std::string>& expected);

/// The same of partitions by name (sorted); `where` they are, in words.
void require_same_partitions(const std::vector<std::string>& there, const std::vector<std::string>& expected,
                             const char* where);

}  // namespace dpreduce
