#include "tests/fit/watched_files.hpp"

#include <cerrno>
#include <mutex>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/testing.hpp"

namespace dpreduce {
namespace {

std::mutex watch_mutex;
WatchedFiles* watch = nullptr;

std::string path_of(int file) {
  std::error_code error;
  std::string path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), error).string();
  return path;
}

bool see(FileCall::Kind kind, std::string path) {
  const std::lock_guard lock(watch_mutex);
  if (watch == nullptr || watch->see(kind, std::move(path))) return true;
  errno = EIO;
  return false;
}

}  // namespace

WatchedFiles::WatchedFiles(const std::filesystem::path& folder) : folder_(folder.string()) {
  const std::lock_guard lock(watch_mutex);
  watch = this;
}

WatchedFiles::~WatchedFiles() {
  const std::lock_guard lock(watch_mutex);
  watch = nullptr;
}

void WatchedFiles::fail_sync(std::size_t number, std::function<bool(const std::string&)> fails) {
  const std::lock_guard lock(watch_mutex);
  syncs_until_failure_ = number;
  fails_ = std::move(fails);
  has_failed_ = false;
}

bool WatchedFiles::see(FileCall::Kind kind, std::string path) {
  if (!path.starts_with(folder_)) return true;
  // Without a name yet it is "FOLDER/#123 (deleted)".
  if (path.find("/#") != std::string::npos && path.ends_with(" (deleted)")) path = "unnamed";
  if (kind == FileCall::Kind::kSync && syncs_until_failure_ > 0 && fails_(path) && --syncs_until_failure_ == 0) {
    has_failed_ = true;
    return false;
  }
  calls_.push_back({kind, std::move(path)});
  return true;
}

}  // namespace dpreduce

using Kind = dpreduce::FileCall::Kind;

extern "C" {

ssize_t write(int file, const void* bytes, size_t count) {
  dpreduce::see(Kind::kWrite, dpreduce::path_of(file));
  return syscall(SYS_write, file, bytes, count);
}

int fsync(int file) {
  if (!dpreduce::see(Kind::kSync, dpreduce::path_of(file))) return -1;
  return static_cast<int>(syscall(SYS_fsync, file));
}

int ftruncate(int file, off_t length) noexcept {
  dpreduce::see(Kind::kCut, dpreduce::path_of(file));
  return static_cast<int>(syscall(SYS_ftruncate, file, length));
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  dpreduce::see(Kind::kName, to);
  return static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}

int rename(const char* from, const char* to) noexcept {
  dpreduce::see(Kind::kName, to);
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0U));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  dpreduce::see(Kind::kName, to);
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int unlink(const char* path) noexcept {
  dpreduce::see(Kind::kRemove, path);
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
}
