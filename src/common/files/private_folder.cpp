#include "common/files/private_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <unistd.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

std::filesystem::path best_parent() {
  const std::filesystem::path memory = "/dev/shm";
  std::error_code error;
  if (std::filesystem::is_directory(memory, error) && access(memory.c_str(), W_OK | X_OK) == 0) return memory;
  return std::filesystem::temp_directory_path();
}

}  // namespace

PrivateFolder::PrivateFolder() {
  std::string name = best_parent() / "dpreduce.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw BadInput(name + ": cannot make a private folder: " + std::generic_category().message(errno));
  }
  path_ = name;
}

PrivateFolder::~PrivateFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace dpreduce
