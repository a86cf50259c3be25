#include "common/data/output_check.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/files/paths.hpp"

namespace dpreduce {
namespace {

void check_array(std::span<const NamedPath> outputs, const ShardedArray& array) {
  for (std::size_t file = 0; file < array.files(); ++file) {
    require_not_read(outputs, split_array_path(array.path_of(file)).file);
  }
}

}  // namespace

void require_not_read(std::span<const NamedPath> outputs, const std::string& input) {
  for (const NamedPath& output : outputs) {
    std::error_code error;  // set where one of the two is no file: then they are not the same
    if (output.path.empty() || std::filesystem::is_character_file(output.path, error)) continue;
    if (!std::filesystem::equivalent(output.path, input, error)) continue;
    throw UsageError(
        fmt::format("{} {}: is the input {}; name another file for the output", output.option, output.path, input));
  }
}

void require_not_read(std::span<const NamedPath> outputs, const WorkerRows& rows) {
  check_array(outputs, rows.features());
  if (rows.has_labels()) check_array(outputs, rows.labels());
}

}  // namespace dpreduce
