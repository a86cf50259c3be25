// Gram matrices of all classes, one class after the other, in memory that does not grow with the number of classes.
//
// Legend: A_j = sum_{i : j in Y_i} q_i q_i^T, d x d; G = sum_i q_i q_i^T (sum_j A_j where every row has one class);
// b_j = sum_{i : j in Y_i} q_i; M the bytes for rows
// (StreamPlan::memory_bytes).
//
//     first pass    counts and digests of every class; b (K x d), and G where the release has it
//     then, for as many classes as M holds rows of:
//       a pass      rows of these classes, grouped by class
//       each class  A_j, an exact product of its rows with themselves
//
// Every row is transformed twice, whatever the number of passes: a pass looks at all labels and takes only the rows of
// its classes. A row of several classes is transformed once more for each pass about one of them. A batch holds such a
// row once for each of its classes. A class with more rows than M holds is a batch of its own, and streamed. Counts
// stay on the rank. The rows of later passes are compared, class by class, with the digests of the first pass: a row
// that moved from one class to another in between would count twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/ledger/noise_plan.hpp"
#include "common/ledger/statistic.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/row_digest.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {

/// Gram matrices of classes, one after the other. If units are clipped, the first pass goes through whole units and
/// keeps the weight of every row in the A_j, 4 bytes a row: one weight for all classes of a unit.
class ClassGrams {
 public:
  /// Makes the first pass. `order` lists the classes whose matrices are requested, each once, in that order; all
  /// references outlive the object. Memory: M and 8 d^2 + 8 K d bytes. Cost: n d additions, n d (d + 1) / 2
  /// multiply-adds for G, and the digest's. Throws as for_each_lattice_chunk.
  ClassGrams(const ReleaseRequest& request, const StatisticInputs& inputs, const RowHasher& hasher,
             std::vector<std::size_t> order);

  /// Returns the digests of the rows of each class, K.
  std::span<const RowDigest> class_digests() const { return digests_; }

  /// Returns the blocks of the release beside class_grams: gram, if the release has it, and class_sums. Call it once.
  Statistic take_sums() { return std::move(sums_); }

  /// triangle <- the upper triangle of A_j for the next class of the order. Cost: n_j d (d + 1) / 2 multiply-adds, and
  /// a pass over the files whenever the rows in memory are used up. Throws as for_each_lattice_chunk; BadInput if the
  /// rows are not those of the first pass. Preconditions (asserted): classes are left; d (d + 1) / 2 elements.
  void next(std::span<std::int64_t> triangle);

 private:
  void first_pass();
  void digest_first(const LatticeRows& chunk);
  void load_batch();
  void check_unchanged(std::size_t label, std::uint64_t count, const RowDigest& digest) const;

  StatisticInputs inputs_;
  const RowHasher& hasher_;
  std::size_t dim_;
  std::size_t capacity_;  // rows of a batch
  std::vector<std::size_t> order_;
  Statistic sums_;
  std::vector<std::uint64_t> counts_;  // of each class
  std::vector<RowDigest> digests_;     // of each class

  std::size_t next_ = 0;       // place in order_
  std::size_t batch_end_ = 0;  // place in order_; the batch ends before it
  SecretVector<std::int16_t> batch_;
  std::vector<std::size_t> batch_row_;  // first row of each class in the batch
  SecretVector<std::int64_t> square_;
  std::optional<std::uint64_t> clipped_rows_;  // B, if units are clipped
  std::vector<RowWeight> clipped_;             // weights of the rows of the worker's range, if units are clipped
  WeightedRows weighted_{WeightPower::kHalf};  // of the current chunk
  WeightedRows weighted_gram_;                 // of G
  WeightedRows weighted_sums_;
};

/// triangle <- the upper triangle of A_j for one class, from a separate pass. Returns the digest of the rows that it
/// summed, for comparison with that of the first pass. Cost: n_j d (d + 1) / 2 multiply-adds, and the digest's; if
/// units are clipped, one more pass, over all rows. Memory: M and 8 d^2 bytes; if units are clipped, 8 bytes a row as
/// well. Throws as for_each_lattice_chunk. Precondition: d (d + 1) / 2 elements.
RowDigest gram_of_class(std::size_t label, const ReleaseRequest& request, const StatisticInputs& inputs,
                        const RowHasher& hasher, std::span<std::int64_t> triangle);

}  // namespace dpreduce
