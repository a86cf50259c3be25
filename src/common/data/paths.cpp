#include "dpreduce/data/paths.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/config/rank_pattern.hpp"

namespace dpreduce {
namespace {

std::vector<std::string> matches(const std::string& pattern) {
  struct stat status {};
  if (::stat(pattern.c_str(), &status) == 0) return {pattern};
  if (pattern.find_first_of("*?[") == std::string::npos) {
    throw BadInput(fmt::format("{}: {}; check the path", pattern, std::strerror(errno)));
  }
  glob_t found{};
  const int failure = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files;
  if (failure == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (files.empty()) throw BadInput(fmt::format("{}: no file matches; check the pattern", pattern));
  std::sort(files.begin(), files.end());  // by bytes: the same order on every rank, whatever its locale
  return files;
}

}  // namespace

ArrayPath split_array_path(const std::string& path) {
  const std::size_t colon = path.find(":/", 1);
  if (colon == std::string::npos || colon + 2 == path.size()) return {path, ""};
  return {path.substr(0, colon), path.substr(colon + 1)};
}

bool paths_are_per_worker(const std::vector<std::string>& patterns) {
  const auto is_per_worker = [](const std::string& pattern) { return has_rank(pattern); };
  const auto with = std::count_if(patterns.begin(), patterns.end(), is_per_worker);
  if (with == 0) return false;
  if (static_cast<std::size_t>(with) == patterns.size()) return true;
  const auto without = std::find_if_not(patterns.begin(), patterns.end(), is_per_worker);
  throw UsageError(
      fmt::format("{}: has no {{rank}} where other paths of the same option have; use it in all or in none", *without));
}

std::vector<std::string> expand_paths(const std::vector<std::string>& patterns, std::size_t worker) {
  std::vector<std::string> paths;
  std::set<std::tuple<dev_t, ino_t, std::string>> seen;
  for (const std::string& pattern : patterns) {
    const ArrayPath parts = split_array_path(with_rank(pattern, worker));
    for (const std::string& file : matches(parts.file)) {
      const std::string path = parts.dataset.empty() ? file : file + ":" + parts.dataset;
      struct stat status {};
      if (::stat(file.c_str(), &status) != 0) {
        throw BadInput(fmt::format("{}: {}; check the path", file, std::strerror(errno)));
      }
      if (S_ISDIR(status.st_mode)) {
        throw BadInput(fmt::format("{}: is a directory; name the files in it, as in '{}/*.npy'", file, file));
      }
      if (::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) != 0) {
        throw BadInput(fmt::format("{}: cannot be read: {}; check its permissions", file, std::strerror(errno)));
      }
      if (S_ISREG(status.st_mode) && status.st_size == 0) {
        throw BadInput(fmt::format("{}: is empty; write it again", file));
      }
      if (!seen.emplace(status.st_dev, status.st_ino, parts.dataset).second) {
        throw BadInput(fmt::format("{}: is named twice, and would count its records twice; name each file once", path));
      }
      paths.push_back(path);
    }
  }
  return paths;
}

}  // namespace dpreduce
