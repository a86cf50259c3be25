#include "common/data/made_files.hpp"

#include <system_error>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {

MadeFiles::~MadeFiles() {
  if (keeps_) return;
  std::error_code error;
  for (const std::string& file : files_) std::filesystem::remove(file, error);
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) std::filesystem::remove(*folder, error);
}

void MadeFiles::make_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> missing;
  for (auto path = folder; !path.empty() && !std::filesystem::is_directory(path); path = path.parent_path()) {
    missing.push_back(path);
  }
  for (auto path = missing.rbegin(); path != missing.rend(); ++path) {
    std::error_code error;
    if (std::filesystem::create_directory(*path, error)) folders_.push_back(*path);
    if (error == std::errc::file_exists) error = make_error_code(std::errc::not_a_directory);
    if (error) throw BadInput(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
  }
}

}  // namespace dpreduce
