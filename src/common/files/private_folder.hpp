// A folder of this process alone, in memory where the system has such a place, gone when the object goes.
#pragma once

#include <filesystem>
#include <string>

namespace dpreduce {

class PrivateFolder {
 public:
  /// Makes a new folder (mode 0700) in /dev/shm, or else in the system's folder for temporary files. Throws BadInput
  /// with the path and the reason. (A process that is killed leaves it behind.)
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace dpreduce
