#include "common/base/local_path.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// How a file of such an address becomes one of this machine.
std::string_view fetched_by(std::string_view scheme) {
  if (scheme == "s3") return "aws s3 cp";
  if (scheme == "gs") return "gcloud storage cp";
  if (scheme == "http" || scheme == "https") return "curl -O";
  if (scheme == "hdfs") return "hdfs dfs -get";
  return "";
}

}  // namespace

void require_local(const std::string& path) {
  const std::string_view scheme = std::string_view(path).substr(0, std::min(path.find("://"), path.size()));
  const auto is_of_scheme = [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.'; };
  if (scheme.size() == path.size() || scheme.size() < 2 || !std::ranges::all_of(scheme, is_of_scheme)) return;
  const std::string_view command = fetched_by(scheme);
  throw BadInput(
      fmt::format("{}: is an address ({}), and files are read and written on this machine alone; copy it{} or "
                  "mount the store, and name the path",
                  path, scheme, command.empty() ? "," : fmt::format(" ({}),", command)));
}

}  // namespace dpreduce
