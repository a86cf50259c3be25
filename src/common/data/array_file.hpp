// One array in one file, whatever the format: rows of features as float, or labels as class indices.
//
// Legend: a feature file is n x d (d >= 1), one row a record, of float16, float32 or float64. A label file is n or n x
// 1 class indices, or n x K zeros and ones (K >= 2: column c is 1 if the row is of class c), of bool or an integer
// type; or n or n x 1 strings, the names of classes. A file of identifiers is n or n x 1 integers or strings; one of
// weights n or n x 1 floats. One of targets is n or n x m floats or integers: numbers to predict. Rows count from 0,
// and so do classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/input_file.hpp"
#include "common/data/element_conversion.hpp"
#include "common/data/label_slots.hpp"
#include "common/data/named_classes.hpp"

namespace dpreduce {

/// Ends each message that quotes a row, a value or a number of rows: these are private.
inline constexpr const char* kForOwnerOnly = " (for the data's owner only)";

/// Visitor of identifiers of persons. An integer and its decimal digits are one person: 7 and "7".
struct VisitPersons {
  std::function<void(std::span<const std::int64_t> persons)> integers;  ///< of some rows that follow one another
  std::function<void(std::string_view person)> name;                    ///< of a row: UTF-8, or digits of 2^63 and more
};

/// Targets of a row.
inline constexpr std::uint64_t kMostTargets = 1024;

enum class ArrayRole { kFeatures, kLabels, kPersons, kWeights, kTargets };

/// Not thread-safe: rows pass through a scratch buffer of the object, of at most 4 MiB or one row.
class ArrayFile {
 public:
  virtual ~ArrayFile() = default;
  ArrayFile(const ArrayFile&) = delete;
  ArrayFile& operator=(const ArrayFile&) = delete;

  /// The path, with the dataset where there is one; for messages.
  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  /// n, the first extent.
  std::uint64_t rows() const { return shape_.front(); }
  /// Product of the other extents: d for features; 1 for class indices, K for zeros and ones.
  std::uint64_t columns() const { return columns_; }

  /// Throws BadInput naming the file, its shape or type, and what to do, where it is no feature file as above.
  void require_holds_features() const;
  /// The same for labels; `names` are those of the classes, null if absent, and labels must then be numbers.
  void require_holds_labels(const NamedClasses* names) const;

  /// The same for what rows weigh: floats, one a row.
  void require_holds_weights() const;

  /// The same for targets: floats or integers, one or several a row.
  void require_holds_targets() const;

  /// The same for the identifiers of rows' persons: integers or strings, one a row. Of floats the message names a row.
  void require_holds_persons();

  using VisitName = std::function<void(std::uint64_t row, std::string_view name)>;

  /// Calls visit with the identifiers of those rows, in order, as they are stored. Preconditions (asserted): the file
  /// holds identifiers; the rows exist. Throws BadInput with file and row where one is missing, or the file cannot be
  /// read.
  void visit_persons(std::uint64_t first_row, std::uint64_t count, const VisitPersons& visit);

  /// Writes out[r * d + a] = feature a of row first_row + r as float32, for r < count. Exact but for float64, which is
  /// rounded to nearest (beyond the range of a float: an infinity).
  /// Preconditions (asserted): the file holds features or weights (d = 1); the rows exist; out has count * d entries.
  /// BadInput where the file cannot be read.
  void read_features(std::uint64_t first_row, std::uint64_t count, std::span<float> out);

  /// Writes the classes of rows first_row .. first_row + count - 1 into count x k slots (label_slots.hpp), k =
  /// out.size() / count. A row of more than k classes is reported, not refused. Preconditions (asserted): the file
  /// holds labels (require_holds_labels with the same names); the rows exist; k >= 1 divides; 1 <= classes < 2^31;
  /// names are as many. Throws BadInput with file, row, value and range where a label is none of 0 .. classes - 1 nor
  /// of the names (unless `unlisted` are taken: kUnlistedLabel), an entry of zeros and ones is neither, or these have
  /// not `classes` columns.
  void read_labels(std::uint64_t first_row, std::uint64_t count, std::uint64_t classes, std::span<std::int32_t> out,
                   const NamedClasses* names = nullptr, UnlistedLabels unlisted = UnlistedLabels::kRefused);

  /// Writes the targets of those rows, count x m doubles. Preconditions (asserted): the file holds targets; the rows
  /// exist. Throws BadInput with file, row and value where one is NaN or infinite, unless these are taken.
  void read_targets(std::uint64_t first_row, std::uint64_t count, std::span<double> out, bool takes_bad);

  /// Writes rows as they are stored, in C order and little-endian. Preconditions (asserted): the rows exist; out has
  /// count * row_bytes() bytes. BadInput where the file cannot be read.
  void read_stored(std::uint64_t first_row, std::uint64_t count, std::span<std::byte> out);
  std::uint64_t row_bytes() const { return columns_ * element_bytes_; }

  /// Returns the same rows in place, if the file has them in memory in C order; else an empty view. Valid as long as
  /// the file is open. Precondition: the file holds features.
  virtual StoredFloats features_in_place(std::uint64_t /*first_row*/, std::uint64_t /*count*/) const { return {}; }

  /// Advice: these rows come next; these rows are done with.
  virtual void expect_rows(std::uint64_t /*first_row*/, std::uint64_t /*count*/) const {}
  virtual void release_rows(std::uint64_t /*first_row*/, std::uint64_t /*count*/) const {}

  /// Identity of the array in its file, whatever name was used. Throws BadInput if the file is gone.
  virtual FileIdentity identity() const = 0;

  /// Returns whether labels are cells of a text table, which are 64-bit integers or strings by the type of all of them:
  /// the meaning of a cell must then not depend on its type (NamedClasses::find_cell).
  virtual bool is_text() const { return false; }

  /// Names of the columns, where the file has some.
  virtual std::vector<std::string> column_names() const { return {}; }

  /// Returns whether rows lie in files that the named one refers to: identity() is then not theirs.
  virtual bool lies_in_other_files() const { return false; }

  /// Bytes of memory that the array uses while the file is open, because elements do not lie in the file as rows.
  virtual std::uint64_t held_bytes() const { return 0; }

  /// Returns whether keeping the file open costs neither a descriptor nor a cache.
  virtual bool is_cheap_to_keep_open() const { return held_bytes() == 0; }

 protected:
  /// Throws BadInput where `shape` has no extent (a single number), or more than 2^63 bytes.
  ArrayFile(std::string name, DType dtype, ByteOrder byte_order, Shape shape, std::size_t element_bytes);

  /// Calls visit with each row of strings, or of integers of a text table, in order.
  virtual void visit_names(std::uint64_t first_row, std::uint64_t count, const VisitName& visit);

 private:
  // Rows in C order: a view of the file, or of `scratch` after they have been gathered there.
  virtual std::span<const std::byte> stored_rows(std::uint64_t first_row, std::uint64_t count,
                                                 std::vector<std::byte>& scratch) = 0;

  void refuse_float_persons();
  [[noreturn]] void refuse_missing_person(std::uint64_t row, std::string_view identifier) const;
  void read_integer_labels(std::uint64_t first_row, std::uint64_t count, std::uint64_t classes,
                           std::span<std::int32_t> out, UnlistedLabels unlisted);
  // Reads a column of text in which some cell is no integer: cells that are class indices are classes.
  void read_cells_as_classes(std::uint64_t first_row, std::uint64_t count, std::uint64_t classes,
                             std::span<std::int32_t> out, UnlistedLabels unlisted);
  void read_named_labels(std::uint64_t first_row, std::uint64_t count, const NamedClasses& names,
                         std::span<std::int32_t> out, UnlistedLabels unlisted);
  void read_label_sets(std::uint64_t first_row, std::uint64_t count, std::uint64_t classes,
                       std::span<std::int32_t> out);
  // Calls visit(rows before, rows, their bytes) for one block of those rows after the other, of `most` rows at most.
  template <typename Visit>
  void for_each_block(std::uint64_t first_row, std::uint64_t count, const Visit& visit, std::uint64_t most = ~0ULL);
  // Calls visit(number of the first row, their integers) for parts of these blocks, of rows of one integer.
  template <typename Visit>
  void for_integers(std::uint64_t first_row, std::uint64_t count, const Visit& visit, std::uint64_t most = ~0ULL);
  std::string decimal(std::int64_t integer) const;

  std::string name_;
  DType dtype_;
  ByteOrder byte_order_;
  Shape shape_;
  std::size_t element_bytes_;
  std::uint64_t columns_ = 1;
  std::vector<std::byte> scratch_;
};

/// Opens `path`: file.h5:/dataset as HDF5, file.npz[:name] and file.safetensors[:name],
/// file.csv[:columns] (which needs the role), anything else as .npy (array_formats.hpp). Throws BadInput.
std::unique_ptr<ArrayFile> open_array(const std::string& path, ArrayRole role = ArrayRole::kLabels);

}  // namespace dpreduce
