// Features and labels of one worker, and the check that no output is one of their files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/data/label_slots.hpp"
#include "common/data/memory_array.hpp"
#include "common/data/row_units.hpp"
#include "common/data/sharded_array.hpp"

namespace dpreduce {

// Features and labels of one worker: which rows are its own.

struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t end() const { return first + count; }
};

/// Returns rows floor(n w / P) .. floor(n (w + 1) / P) - 1 for worker w of P: the ranges of all workers partition
/// 0 .. n - 1 and differ by at most one row in length. No product overflows.
/// Precondition (asserted): w < P < 2^32.
RowRange even_share(std::uint64_t rows, std::size_t worker, std::size_t workers);

/// Rows in memory that other workers have read: n x d features, and n class indices, n x K zeros and ones, or n x m
/// targets.
struct OtherRows {
  std::vector<float> features;
  std::vector<std::int32_t> labels;
  std::vector<std::uint8_t> label_sets;
  std::vector<double> targets;
};

/// A worker's rows: features and, if present, labels, which may be split into files differently.
class WorkerRows {
 public:
  /// Opens what the patterns name. Without "{rank}" all workers share one list of files and each takes its even share;
  /// with it a worker owns every row of its own files (none is allowed).
  /// `y_patterns` may be empty: rows without labels. Labels may be among `names`, where there are some.
  /// Throws UsageError where {rank} is used in some patterns only; BadInput as expand_paths and ShardedArray do, where
  /// one file is both, or a label's column by name a feature, where features and labels differ in number of rows, and
  /// where there are no shared rows, or fewer than workers. Preconditions (asserted): x_patterns is not empty; worker <
  /// workers.
  static WorkerRows open(const std::vector<std::string>& x_patterns, const std::vector<std::string>& y_patterns,
                         std::size_t worker, std::size_t workers, std::shared_ptr<const NamedClasses> names = {},
                         ArrayRole role_of_y = ArrayRole::kLabels);

  /// Rows that lie in memory, all of them this worker's, and none is allowed; the names are for messages. The views
  /// stay valid as long as this object and those that it is moved to. Throws BadInput where one does not fit its role
  /// (ArrayFile), or features and labels differ in number of rows.
  static WorkerRows in_memory(const ArrayView& features, const std::optional<ArrayView>& labels,
                              const std::string& features_name, const std::string& labels_name = {},
                              ArrayRole role_of_y = ArrayRole::kLabels);

  /// No rows, with labels, or so many targets, for a party that has none: a worker to which nothing is due.
  static WorkerRows none(std::size_t dim, std::size_t targets = 0);
  bool is_none() const { return features_.files() == 0; }

  std::size_t dim() const { return features_.columns(); }
  bool has_labels() const { return labels_.has_value(); }
  /// Returns whether labels are n x K zeros and ones, so that a row may be of several classes, or of none.
  bool has_label_sets() const { return labels_ && labels_->role() == ArrayRole::kLabels && labels_->columns() > 1; }
  /// m, where rows have numbers to predict in the place of classes; else 0.
  std::size_t targets() const { return labels_ && labels_->role() == ArrayRole::kTargets ? labels_->columns() : 0; }
  /// Returns whether a row of more labels than are allowed counts nowhere, in the place of a refusal.
  bool takes_any_number_of_labels() const {
    return labels_ && labels_->unlisted_labels() == UnlistedLabels::kInAnyNumber;
  }
  /// Slots of a row (label_slots.hpp), of `classes` classes; of rows that may be of several, all of them.
  std::size_t label_slots(std::size_t classes) const {
    return targets() > 0 ? targets() * kSlotsPerTarget : has_label_sets() ? classes : 1;
  }
  /// This worker's rows among those of `features()`.
  RowRange range() const { return range_; }

  /// Keeps of this worker's rows, from here on, those at `places` of features() and labels(), which become these rows
  /// alone. Precondition (asserted): places rise, and lie in range().
  void keep(std::vector<std::uint64_t> places);

  /// Gives this worker, from here on, its even share of the rows that it was opened with, which others have as well.
  /// Preconditions (asserted): worker < workers; nothing was left out before.
  void keep_share(std::size_t worker, std::size_t workers);

  /// Gives this worker all its rows again, from here on.
  void keep_all();

  /// Sets the weight of each row of range(), from here on. Precondition (asserted): one weight a row; nothing was left
  /// out before.
  void set_weights(std::vector<RowWeight> weights);
  bool has_weights() const { return weights_.has_value(); }
  /// The weight of row `row` of features(). Preconditions (asserted): has_weights(); the row is in range().
  RowWeight weight(std::uint64_t row) const { return asserted(weights_)[place_of(row)]; }

  /// Sets the group of each row of range(), from here on. Precondition (asserted): one group a row; nothing was left
  /// out before.
  void set_groups(std::vector<std::int32_t> groups);
  /// Group of row `row` of features(). Preconditions (asserted): rows have groups; the row is in range().
  std::int32_t group(std::uint64_t row) const { return asserted(groups_)[place_of(row)]; }

  /// Sets the unit of each row of range(), from here on. Precondition (asserted): one unit a row, each of them
  /// numbered.
  void set_units(RowUnits units);
  bool has_units() const { return units_.has_value(); }
  /// Precondition (asserted): has_units().
  const RowUnits& units() const { return asserted(units_); }
  /// Unit of row `row` of features(). Preconditions (asserted): as for weight.
  std::uint32_t unit(std::uint64_t row) const { return units().of_rows[place_of(row)]; }
  /// Returns whether each unit's rows are all here, so that rows are processed unit by unit. They have one weight.
  bool goes_by_unit() const { return units_ && units_->are_whole; }
  /// The rows of range(). Precondition (asserted): goes_by_unit().
  const RowsByUnit& by_unit() const;

  /// Gives this worker, from here on, those of its own rows that are at `own` places, and after them rows that other
  /// workers had. Weights and units have to be set again. Preconditions (asserted): as keep; nothing was left out
  /// before; has_labels(); as many features as labels, of as many columns as these rows.
  void exchange(std::vector<std::uint64_t> own, OtherRows others);
  /// Bytes that the rows of others take.
  std::uint64_t bytes_of_others() const;

  /// Bytes of files of features and labels that are mapped into memory when they are read.
  std::uint64_t mapped_bytes() const { return features_.mapped_bytes() + (labels_ ? labels_->mapped_bytes() : 0); }

  /// Bytes that files of features and labels take in memory while they are open.
  std::uint64_t held_bytes() const { return features_.held_bytes() + (labels_ ? labels_->held_bytes() : 0); }

  ShardedArray& features() { return features_; }
  const ShardedArray& features() const { return features_; }
  /// Precondition (asserted): has_labels().
  ShardedArray& labels() { return asserted(labels_); }
  const ShardedArray& labels() const { return asserted(labels_); }

  /// "x.npy: row 12": where row `row` of `features()` lies, for the owner's messages.
  std::string where(std::uint64_t row) const { return features_.where(row); }
  /// The same for that row's labels. Precondition (asserted): has_labels().
  std::string where_labels(std::uint64_t row) const { return labels().where(row); }

 private:
  // The value. Precondition (asserted): there is one.
  template <typename Optional>
  static auto asserted(Optional& optional) -> decltype(*optional) {
    DPREDUCE_ASSERT(optional.has_value());
    return *optional;
  }
  void order_by_unit();
  // Its place in range(). Precondition (asserted): it is there.
  std::uint64_t place_of(std::uint64_t row) const;
  WorkerRows(ShardedArray features, std::optional<ShardedArray> labels, RowRange range);

  OtherRows others_;  // what arrays in memory look at
  ShardedArray features_;
  std::optional<ShardedArray> labels_;
  RowRange all_;                                     // of the files
  RowRange range_;                                   // of what is kept of them
  std::optional<std::vector<RowWeight>> weights_;    // of the rows of range_
  std::optional<std::vector<std::int32_t>> groups_;  // of the same
  std::optional<RowUnits> units_;                    // of the same
  RowsByUnit by_unit_;                               // of these, where units are whole
};

// An output is no input.

/// A path that an option names.
struct NamedPath {
  std::string option;
  std::string path;  ///< empty: not given
};

/// Throws UsageError where one of `outputs` is a file that `rows` are read from, under whatever name: by device and
/// inode, links followed.
void require_not_read(std::span<const NamedPath> outputs, const WorkerRows& rows);

/// The same of one file.
void require_not_read(std::span<const NamedPath> outputs, const std::string& input);

// A worker's rows, chunk after chunk, in memory that does not grow with their number.
//
// Legend: a chunk is c x d features (row-major, one row a record) and c x k label slots (label_slots.hpp),
// c <= rows_per_chunk.

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
