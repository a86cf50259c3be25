// A file that grows line by line, for readers who look on while it does.
#pragma once

#include <string>
#include <string_view>

#include "common/base/file_descriptor.hpp"
#include "common/files/atomic_file.hpp"

namespace dpreduce {

/// Each line is in the file when write() returns, whole. What was there before is gone with the first line, not
/// sooner: a run that is refused leaves the file as it was.
class LineFile {
 public:
  /// Throws BadInput where the path is empty or a directory, the file cannot be written, or is there and is to be kept;
  /// UsageError where another process is writing it.
  LineFile(const std::string& path, Existing existing);
  /// Removes a file that it has made and never written to.
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// `line` without its end. Throws BadInput (disk full, quota, ...).
  void write(std::string_view line);

 private:
  int opened(Existing existing);

  std::string path_;
  bool is_new_ = false;
  OutputClaim claim_;
  FileDescriptor file_;
  bool is_written_ = false;
};

}  // namespace dpreduce
