// Predictions as a table: .csv, whose first line names the columns, or .npy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "common/data/csv_writer.hpp"
#include "common/data/npy_writer.hpp"
#include "common/model/classifier.hpp"

namespace dpreduce {

/// Of n rows, appearing whole or not at all.
class PredictionFile {
 public:
  /// The classes of each row: `per_row`, the best first, or one where it is 0. In .npy their numbers (int64, n, or n x
  /// per_row), in .csv their names where the model has them. Throws BadInput as AtomicFile.
  static PredictionFile of_labels(const std::string& path, const Classifier& classifier, std::uint64_t rows,
                                  std::size_t per_row, Existing existing);
  /// A number for each class: float32, or uint8 where `dtype` says so. In .csv a column has the name of its class, or
  /// class_K. Throws BadInput as AtomicFile.
  static PredictionFile of_classes(const std::string& path, const Classifier& classifier, DType dtype,
                                   std::uint64_t rows, Existing existing);

  /// The next elements, row by row: classes, float32, or zeros and ones. Precondition (asserted): of the file's kind.
  /// Throws BadInput.
  void append(std::span<const std::int32_t> classes);
  void append(std::span<const float> numbers);
  void append_sets(std::span<const std::byte> sets);

  /// Makes the file appear. Precondition (asserted): all rows are there. Throws BadInput.
  void commit();

 private:
  using Writer = std::variant<std::unique_ptr<NpyWriter>, std::unique_ptr<CsvWriter>>;
  PredictionFile(Writer writer, std::vector<std::string> class_names);

  Writer writer_;
  std::vector<std::string> class_names_;
};

}  // namespace dpreduce
