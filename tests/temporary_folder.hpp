// A folder of a test's own, and whole files in it.
#pragma once

#include <stdlib.h>

#include "tests/testing.hpp"

namespace dpreduce {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (parent() / "dpreduce-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  /// Names in the folder, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  // In memory where there is room: a disk takes longer to flush than most tests to compute.
  static std::filesystem::path parent() {
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space("/dev/shm", error);
    const bool has_room = !error && space.available >= std::uintmax_t{1} << 30;
    return has_room && std::getenv("TMPDIR") == nullptr ? "/dev/shm" : std::filesystem::temp_directory_path();
  }

  std::filesystem::path path_;
};

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_bytes(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(bytes).str();
}

}  // namespace dpreduce
