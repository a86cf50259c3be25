// Tables as CSV files (RFC 4180, but lines end with \n), appearing whole or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "common/base/output_file.hpp"

namespace dpreduce {

class CsvWriter {
 public:
  /// The first line names the columns. Throws BadInput as AtomicFile does.
  CsvWriter(const std::string& path, std::span<const std::string> columns, Existing existing = Existing::kKeep);

  /// The next field of a row, and behind its last one the end of the line. A text with a comma, a quote or the end of a
  /// line is quoted; a float has the digits that bring it back. Throws BadInput.
  void add(std::string_view text);
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void add(Number number) { add(fmt::format("{}", number)); }

  /// Makes the file appear. Precondition (asserted): rows are whole. Throws BadInput.
  void commit();

 private:
  void end_field();
  void flush();

  AtomicFile file_;
  std::size_t columns_;
  std::size_t fields_ = 0;  // of the row
  std::string buffer_;
};

/// Returns whether the name ends with .csv. Otherwise the table is an .npy file.
bool is_csv(const std::string& path);

/// Throws UsageError where the name ends with a suffix other than .npy and .csv. Without one (a device, a pipe) it is
/// .npy.
void require_table_path(const std::string& option, const std::string& path);

}  // namespace dpreduce
