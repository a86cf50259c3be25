#include "common/base/paths.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/file_descriptor.hpp"
#include "common/base/text.hpp"

namespace dpreduce {
namespace {

// Files that hold several arrays.
struct ContainerFormat {
  std::string_view suffix;
  bool is_archive = false;  // else HDF5, in which names are paths
};

constexpr ContainerFormat kContainers[] = {{".h5"},       {".hdf5"},      {".h5ad"},      {".npz", true},
                                           {".pt", true}, {".pth", true}, {".csv", true}, {".safetensors", true}};

// Paths that match the pattern, in no order.
std::vector<std::string> glob_matches(const std::string& pattern) {
  glob_t found{};
  const int failure = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files;
  if (failure == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

std::vector<std::string> matches(const std::string& pattern) {
  struct stat status {};
  if (::stat(pattern.c_str(), &status) == 0) return {pattern};
  if (pattern.find_first_of("*?[") == std::string::npos) {
    throw BadInput("{}: {}; check the path", pattern, std::strerror(errno));
  }
  std::vector<std::string> files = glob_matches(pattern);
  if (files.empty()) throw BadInput("{}: no file matches; check the pattern", pattern);
  std::sort(files.begin(), files.end());  // by bytes: the same order on every rank, whatever its locale
  return files;
}

// Names of the entries of the folder, which may be a glob itself; without the folder.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder.empty() ? "." : folder, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    names.push_back(entries->path().filename().string());
  }
  if (!names.empty()) return names;
  for (const std::string& path : glob_matches(folder + "*")) names.push_back(std::filesystem::path(path).filename());
  return names;
}

// The numbers n for which `name` is what `pattern`, part of a path, names for n.
std::set<std::size_t> numbers_of(const std::string& name, const std::string& pattern) {
  constexpr std::size_t kMostDigits = 9;
  constexpr const char* kDigits = "0123456789";
  std::set<std::size_t> numbers;
  for (std::size_t at = name.find_first_of(kDigits); at != std::string::npos;) {
    const std::size_t end = std::min(name.find_first_not_of(kDigits, at), name.size());
    if (end - at <= kMostDigits) {
      const std::size_t number = std::stoul(name.substr(at, end - at));
      if (::fnmatch(with_rank(pattern, number).c_str(), name.c_str(), 0) == 0) numbers.insert(number);
    }
    at = name.find_first_of(kDigits, end);
  }
  return numbers;
}

// Throws BadInput where the file cannot hold rows that can be read.
struct stat status_of_rows(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) throw BadInput("{}: {}; check the path", file, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) {
    throw BadInput("{}: is a directory; name the files in it, as in '{}/*.npy'", file, file);
  }
  if (::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) != 0) {
    throw BadInput("{}: cannot be read: {}; check its permissions", file, std::strerror(errno));
  }
  if (S_ISREG(status.st_mode) && status.st_size == 0) throw BadInput("{}: is empty; write it again", file);
  return status;
}

}  // namespace

ArrayPath split_array_path(const std::string& path) {
  std::size_t colon = path.find(":/", 1);
  if (colon != std::string::npos && colon + 2 == path.size()) return {path, ""};
  bool is_archive = false;
  for (const ContainerFormat& format : kContainers) {
    const std::size_t found = path.find(std::string(format.suffix) + ":", 1);
    const std::size_t here = found == std::string::npos ? found : found + format.suffix.size();
    if (here > colon || here == std::string::npos || here + 1 == path.size()) continue;
    colon = here;
    is_archive = format.is_archive;
  }
  if (colon == std::string::npos) return {path, ""};
  std::string name = path.substr(colon + 1);
  if (is_archive && name.starts_with('/')) name.erase(0, 1);
  if (!is_archive && !name.starts_with('/')) name.insert(0, "/");
  return {path.substr(0, colon), name};
}

bool paths_are_per_worker(const std::vector<std::string>& patterns) {
  if (!has_rank(patterns)) return false;
  const auto without = std::ranges::find_if_not(patterns, [](const std::string& pattern) { return has_rank(pattern); });
  if (without == patterns.end()) return true;
  throw UsageError("{}: has no {{rank}}, but other paths of the same option have; use it in all or in none", *without);
}

std::vector<std::string> expand_paths(const std::vector<std::string>& patterns, std::size_t worker) {
  std::vector<std::string> paths;
  std::map<std::tuple<dev_t, ino_t, std::string>, std::string> seen;
  for (const std::string& pattern : patterns) {
    if (pattern.empty()) throw UsageError("a path is empty; name a file");
    require_local(pattern);
    const ArrayPath parts = split_array_path(with_rank(pattern, worker));
    for (const std::string& file : matches(parts.file)) {
      const std::string path = parts.dataset.empty() ? file : file + ":" + parts.dataset;
      const struct stat status = status_of_rows(file);
      const auto [first, is_new] = seen.emplace(std::tuple(status.st_dev, status.st_ino, parts.dataset), path);
      if (!is_new) {
        const std::string names = first->second == path
                                      ? path + " is given twice"
                                      : fmt::format("{} and {} are the same file", first->second, path);
        throw BadInput("{}, and its records would count twice; give each file once", names);
      }
      paths.push_back(path);
    }
  }
  return paths;
}

void require_same_workers(const std::vector<std::string>& features, const std::vector<std::string>& beside,
                          std::string_view what) {
  if (paths_are_per_worker(features) == paths_are_per_worker(beside)) return;
  throw UsageError("{} and {}: features and {} must both use {{rank}}, or neither", features.front(), beside.front(),
                   what);
}

std::optional<std::string> file_of_no_worker(const std::string& pattern, const WorkerNumbers& workers) {
  const std::string file = split_array_path(pattern).file;
  const std::size_t rank = file.find("{rank}");
  if (rank == std::string::npos) return std::nullopt;
  const std::size_t begin = file.rfind('/', rank) + 1;  // 0 where there is none
  const std::size_t end = file.find('/', rank);
  const bool is_folder = end != std::string::npos;
  std::set<std::size_t> unread;
  for (const std::string& name : names_in(file.substr(0, begin))) {
    for (const std::size_t number : numbers_of(name, file.substr(begin, end - begin))) {
      if (number >= workers.first && number <= workers.last) continue;
      if (is_folder || (number == 0 && workers.first == 1)) unread.insert(number);
    }
  }
  for (const std::size_t number : unread) {
    const std::string path = with_rank(file, number);
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path;
    const std::vector<std::string> found = glob_matches(path);
    if (!found.empty()) return *std::min_element(found.begin(), found.end());
  }
  return std::nullopt;
}

}  // namespace dpreduce
