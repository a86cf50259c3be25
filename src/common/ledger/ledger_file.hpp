// The file of a ledger: opened under a lock, read whole, extended by whole lines or not at all.
#pragma once

#include <filesystem>
#include <string>

#include "common/base/file_descriptor.hpp"

namespace dpreduce {

/// Locked (flock) for as long as it exists. Errors are BadInput with path and reason.
class LedgerFile {
 public:
  enum class Use {
    kRead,   ///< under a shared lock; a missing file is an empty one
    kExtend  ///< under an exclusive lock; a missing file is made
  };

  /// Throws also where it is not a regular file.
  LedgerFile(std::filesystem::path path, Use use);
  LedgerFile(const LedgerFile&) = delete;
  LedgerFile& operator=(const LedgerFile&) = delete;

  /// All of it, as it was when it was locked.
  const std::string& text() const { return text_; }

  /// Returns once the lines, each with its newline, are durable: one write() at the end of the file, then sync, of the
  /// folder too where the file was empty. Whatever fails, the file has its former length again.
  void append(const std::string& lines);

  /// Removes the name of a file that is empty, as opening may have made it. Who waits for the lock will find it gone.
  void remove_if_empty() noexcept;

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::string text_;
};

}  // namespace dpreduce
