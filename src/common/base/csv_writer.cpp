#include "common/base/csv_writer.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

std::string lower_suffix(const std::string& path) {
  std::string suffix = std::filesystem::path(path).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return suffix;
}

}  // namespace

CsvWriter::CsvWriter(const std::string& path, std::span<const std::string> columns, Existing existing)
    : file_(path, existing), columns_(columns.size()) {
  DPREDUCE_ASSERT(columns_ > 0);
  for (const std::string& column : columns) add(std::string_view(column));
}

void CsvWriter::add(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    buffer_ += text;
    return end_field();
  }
  buffer_ += '"';
  for (const char character : text) {
    if (character == '"') buffer_ += '"';
    buffer_ += character;
  }
  buffer_ += '"';
  end_field();
}

void CsvWriter::end_field() {
  ++fields_;
  buffer_ += fields_ == columns_ ? '\n' : ',';
  if (fields_ == columns_) fields_ = 0;
  if (buffer_.size() >= kBufferBytes) flush();
}

void CsvWriter::flush() {
  file_.write(buffer_);
  buffer_.clear();
}

void CsvWriter::commit() {
  DPREDUCE_ASSERT(fields_ == 0);
  flush();
  file_.commit();
}

bool is_csv(const std::string& path) {
  return lower_suffix(path) == ".csv";
}

void require_table_path(const std::string& option, const std::string& path) {
  const std::string suffix = lower_suffix(path);
  if (suffix.empty() || suffix == ".npy" || suffix == ".csv") return;
  throw UsageError("{} {}: tables are written as .npy or .csv; end the name with one of these", option, path);
}

}  // namespace dpreduce
