#include "common/data/table_path.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

std::string lower_suffix(const std::string& path) {
  std::string suffix = std::filesystem::path(path).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return suffix;
}

}  // namespace

bool is_csv(const std::string& path) {
  return lower_suffix(path) == ".csv";
}

void check_table_path(const std::string& option, const std::string& path) {
  const std::string suffix = lower_suffix(path);
  if (suffix.empty() || suffix == ".npy" || suffix == ".csv") return;
  throw UsageError(
      fmt::format("{} {}: tables are written as .npy or .csv; end the name with one of these", option, path));
}

}  // namespace dpreduce
