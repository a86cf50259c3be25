// Several files of features, or of labels, as one array: the rows of the first file, then those of the second, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/data/array_file.hpp"

namespace dpreduce {

/// The rows of several files, or of arrays in memory, as one array. Not thread-safe. .npy files stay mapped once
/// touched; one HDF5 file is open at a time. An array in memory counts as one file.
class ShardedArray {
 public:
  /// Opens each file once to check it, in the order given. Throws BadInput if a file cannot be read, does not fit the
  /// role (see ArrayFile), differs from the first in its number of columns, or from the first that names them in its
  /// column_names (both are named), or is in the list twice under two names. `paths` must not be empty (asserted).
  /// Labels may be among `names`, where there are some.
  ShardedArray(const std::vector<std::string>& paths, ArrayRole role, std::shared_ptr<const NamedClasses> names = {});

  /// One array that is already open, and stays open. Throws BadInput if it does not fit the role.
  ShardedArray(std::unique_ptr<ArrayFile> array, ArrayRole role);

  /// Appends the rows of `array`, which is open and stays open, after all others. Labels must be class indices or zeros
  /// and ones, not names. Preconditions (asserted): as many columns; no row was left out before. Throws BadInput where
  /// it does not fit the role.
  void append(std::unique_ptr<ArrayFile> array);

  /// No rows, of that many columns.
  static ShardedArray none(std::size_t columns, ArrayRole role) { return ShardedArray(role, columns); }

  std::size_t files() const { return shards_.size(); }
  std::uint64_t rows() const { return kept_ ? kept_->size() : shards_.empty() ? 0 : shards_.back().end; }
  ArrayRole role() const { return role_; }
  /// d for features; 1 for class indices, K for zeros and ones; m for targets.
  std::size_t columns() const { return columns_; }
  /// Number of rows in each file, for messages and plans.
  std::uint64_t rows_in_file(std::size_t shard) const { return shards_.at(shard).end - shards_[shard].first; }

  /// The name under which a file was given, and which file it is.
  const std::string& path_of(std::size_t shard) const { return shards_[shard].path; }
  const FileIdentity& identity_of(std::size_t shard) const { return shards_[shard].identity; }
  /// ArrayFile::column_names of it.
  const std::vector<std::string>& column_names_of(std::size_t shard) const { return shards_[shard].column_names; }
  /// Names of the columns: those of the first file that has some, else what was set. They are public. Labels of one
  /// column, persons and weights have none: what such a column is called means nothing.
  const std::vector<std::string>& column_names() const { return column_names_; }
  /// Sets the names that files of other ranks have. Where files here have some, they are the same (require_columns).
  void set_column_names(std::vector<std::string> names) { column_names_ = std::move(names); }
  /// The first file that names its columns; empty: none does.
  const std::string& named_path() const { return named_path_; }
  /// Throws BadInput naming that file and the first column that differs from `expected`, `where` saying where these
  /// are ("in the model"). Where one side has no names, nothing is compared.
  void require_columns(std::span<const std::string> expected, const std::string& where) const;
  /// Number that a digest makes of the names of all silos, which is all that they show; 0: none has names.
  std::uint64_t number_of_names() const { return number_of_names_; }
  void set_number_of_names(std::uint64_t number) { number_of_names_ = number; }
  /// ArrayFile::lies_in_other_files of it.
  bool lies_in_other_files(std::size_t shard) const { return shards_[shard].lies_in_other_files; }

  /// A file of this array of features and one of `other` of as many rows, of which the first 16 and the last 16 are the
  /// same, in whatever format or width. None where there are no such two. Cost: reads those rows.
  std::optional<std::pair<std::size_t, std::size_t>> files_alike(ShardedArray& other);

  /// Bytes of files that are mapped into memory when they are read.
  std::uint64_t mapped_bytes() const;

  /// Bytes that the largest of the files takes in memory while it is open: of those that are packed, or tables of text,
  /// one is open at a time.
  std::uint64_t held_bytes() const;

  /// The element type of all files. Throws BadInput naming two files where they differ.
  DType dtype() const;
  /// Bytes of a row as it is stored. Precondition: as dtype.
  std::uint64_t row_bytes() const { return columns_ * size_of(dtype()); }
  /// Keeps of the rows, from here on, only those at `places`: row r is then places[r]. Preconditions (asserted): places
  /// rise and exist. Memory: 8 bytes a row.
  void keep(std::vector<std::uint64_t> places);

  /// Keeps all rows again.
  void keep_all() { kept_.reset(); }

  /// Reads features as ArrayFile does, over the whole; ranges may span files. Preconditions (asserted): the role fits;
  /// the rows exist; `out` has the right size. Throws BadInput if a file cannot be read or changed its shape since it
  /// was checked.
  void read_features(std::uint64_t first_row, std::uint64_t count, std::span<float> out);
  /// Sets the treatment of labels that are not listed, from here on.
  void set_unlisted_labels(UnlistedLabels unlisted) { unlisted_ = unlisted; }
  UnlistedLabels unlisted_labels() const { return unlisted_; }
  /// Sets how targets that are NaN or infinite are treated: read as such, for rows that then count nowhere, or refused.
  void set_takes_bad_targets(bool takes) { takes_bad_targets_ = takes; }
  /// Reads labels; targets as read_targets does, kSlotsPerTarget slots each (label_slots.hpp), with `classes` ignored.
  void read_labels(std::uint64_t first_row, std::uint64_t count, std::uint64_t classes, std::span<std::int32_t> out);
  void read_stored(std::uint64_t first_row, std::uint64_t count, std::span<std::byte> out);

  /// Shows the identifiers of those rows, as ArrayFile::visit_persons.
  void visit_persons(std::uint64_t first_row, std::uint64_t count, const VisitPersons& visit);

  /// Returns rows where they lie, if one file has them all, in memory and in C order; else nothing. Valid as long as
  /// this array lives.
  StoredFloats features_in_place(std::uint64_t first_row, std::uint64_t count);

  /// Returns how many rows from this one on, at most `most`, lie in one file one behind the other. Precondition
  /// (asserted): the row exists.
  std::uint64_t rows_together(std::uint64_t row, std::uint64_t most) const;

  /// Advice: these rows come next; these are done with.
  void expect_rows(std::uint64_t first_row, std::uint64_t count) const {
    advise(first_row, count, &ArrayFile::expect_rows);
  }
  void release_rows(std::uint64_t first_row, std::uint64_t count) const {
    advise(first_row, count, &ArrayFile::release_rows);
  }

  /// "x.npy: row 12": the file that holds `row` and the row's place in it, for the owner's messages. Precondition
  /// (asserted): the row exists.
  std::string where(std::uint64_t row) const;

 private:
  struct Shard {
    std::string path;
    std::uint64_t first = 0;  // rows first .. end - 1 of the whole
    std::uint64_t end = 0;
    DType dtype = DType::kFloat32;
    FileIdentity identity;
    std::unique_ptr<ArrayFile> file{};  // null while closed
    std::uint64_t held_bytes = 0;
    bool lies_in_other_files = false;
    std::vector<std::string> column_names{};
  };

  ShardedArray(ArrayRole role, std::size_t columns) : role_(role), columns_(columns) {}

  // Consecutive rows of the files.
  struct Run {
    std::uint64_t first;
    std::uint64_t count;
  };

  void refuse_doubles() const;
  void advise(std::uint64_t first_row, std::uint64_t count,
              void (ArrayFile::*advice)(std::uint64_t, std::uint64_t) const) const;
  std::size_t shard_of(std::uint64_t place) const;
  Run run_from(std::uint64_t row, std::uint64_t most) const;
  Run hull_of(std::uint64_t first_row, std::uint64_t count) const;
  ArrayFile& opened(std::size_t shard);
  std::size_t hash_of_ends(std::size_t shard);
  template <typename Visit>
  void for_each_part(std::uint64_t first_row, std::uint64_t count, Visit visit);

  void require_role(ArrayFile& file) const;
  void add(const ArrayFile& file, const std::string& path);
  void add_open(std::unique_ptr<ArrayFile> array);
  void take_column_names(const std::vector<std::string>& names, const std::string& path);

  ArrayRole role_;
  std::shared_ptr<const NamedClasses> names_;  // of classes; null where labels are numbers
  UnlistedLabels unlisted_ = UnlistedLabels::kRefused;
  bool takes_bad_targets_ = false;
  std::size_t columns_ = 0;
  std::vector<Shard> shards_;
  std::optional<std::vector<std::uint64_t>> kept_;  // places in the files; all where empty
  std::size_t last_opened_ = 0;
  std::vector<std::string> column_names_;
  std::string named_path_;
  std::uint64_t number_of_names_ = 0;
};

}  // namespace dpreduce
