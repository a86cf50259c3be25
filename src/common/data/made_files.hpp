// Files and folders that a call makes all of, or none.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace dpreduce {

class MadeFiles {
 public:
  MadeFiles() = default;
  MadeFiles(const MadeFiles&) = delete;
  MadeFiles& operator=(const MadeFiles&) = delete;
  /// Removes the files that were added, and then the folders that were made and are empty, unless keep() was called.
  ~MadeFiles();

  /// Makes the folder, and those above it, where they are not there. Throws BadInput naming it where one cannot be
  /// made.
  void make_folder(const std::filesystem::path& folder);
  /// A file that is written now.
  void add(std::string file) { files_.push_back(std::move(file)); }
  void keep() { keeps_ = true; }

 private:
  std::vector<std::string> files_;
  std::vector<std::filesystem::path> folders_;  // a folder stands behind those above it
  bool keeps_ = false;
};

}  // namespace dpreduce
