// The calls by which this program changes files, seen where they happen: instead of the C library's, a program that is
// linked with watched_files.cpp has its own write, fsync, ftruncate, linkat, rename, renameat2 and unlink.
#pragma once

#include "tests/testing.hpp"

namespace dpreduce {

struct FileCall {
  enum class Kind { kWrite, kSync, kCut, kName, kRemove };
  Kind kind;
  std::string path;  ///< of the file; "unnamed" where it has no name yet
};

/// Calls on files in this folder are seen, and those on it, until this is destroyed; one at a time.
class WatchedFiles {
 public:
  explicit WatchedFiles(const std::filesystem::path& folder);
  ~WatchedFiles();
  WatchedFiles(const WatchedFiles&) = delete;
  WatchedFiles& operator=(const WatchedFiles&) = delete;

  const std::vector<FileCall>& calls() const { return calls_; }

  /// The number-th sync from here on fails, as that of a disk that is lost does, where `fails` takes its path.
  void fail_sync(std::size_t number, std::function<bool(const std::string&)> fails);
  /// Whether that has come to pass.
  bool has_failed() const { return has_failed_; }

  /// Of a call that is about to be made; false where it has to fail.
  bool see(FileCall::Kind kind, std::string path);

 private:
  std::string folder_;
  std::vector<FileCall> calls_;
  std::size_t syncs_until_failure_ = 0;
  std::function<bool(const std::string&)> fails_;
  bool has_failed_ = false;
};

}  // namespace dpreduce
