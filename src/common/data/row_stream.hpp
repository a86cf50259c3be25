// A worker's rows, chunk after chunk, in memory that does not grow with their number.
//
// Legend: a chunk is c x d features (row-major, one row a record) and c x k label slots (label_slots.hpp),
// c <= rows_per_chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/data/label_slots.hpp"
#include "common/data/worker_rows.hpp"

namespace dpreduce {

/// Returns floor(budget / (4 d + 4 k)), the rows whose float features and label slots fill the budget.
/// d features and k labels a row, budget in bytes. Throws UsageError where not one row fits. Precondition (asserted): d
/// >= 1.
std::size_t rows_per_chunk(std::size_t budget_bytes, std::size_t dim, std::size_t labels_per_row = 1);

/// Both views are valid until the next call of RowStream::next().
struct RowChunk {
  std::uint64_t first_row = 0;           ///< number of the first row among those of WorkerRows::features()
  StoredFloats features;                 ///< c x d
  std::span<const std::int32_t> labels;  ///< c x k slots, classes in 0 .. K - 1; empty without labels
  std::size_t rows = 0;                  ///< c >= 1
  std::size_t labels_per_row = 1;        ///< k

  /// The classes of a row of the chunk. Precondition: there are labels.
  std::span<const std::int32_t> classes_of(std::size_t row) const {
    return classes_in(slots_of(labels, labels_per_row, row));
  }
};

/// Memory: rows_per_chunk * (4 d + 4 k) bytes at most. Rows that one .npy file holds in C order, of any float type, are
/// not copied: their pages are mapped, the next chunk's are asked for ahead, and those done with are given back.
class RowStream {
 public:
  /// Streams data.range(). `data` must outlive the stream and is not shared with another thread.
  /// Preconditions (asserted): rows_per_chunk, labels_per_row >= 1; 1 <= classes < 2^31 where there are labels.
  RowStream(WorkerRows& data, std::uint64_t classes, std::size_t rows_per_chunk, std::size_t labels_per_row = 1);

  /// Rows of the chunk that next() returns; 0 after the last.
  std::size_t rows_of_next() const { return chunk_from(next_row_).count; }

  /// Returns the next chunk, or nothing after the last. Throws BadInput where rows cannot be read or a label is no
  /// class index.
  std::optional<RowChunk> next();

  /// Starts again from the first row: another pass.
  void rewind();

 private:
  RowRange chunk_from(std::uint64_t row) const;

  WorkerRows& data_;
  std::uint64_t classes_;
  std::size_t rows_per_chunk_;
  std::size_t labels_per_row_;
  std::uint64_t next_row_;
  RowRange given_;  // rows of the chunk handed out last
  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
};

}  // namespace dpreduce
