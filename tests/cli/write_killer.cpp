// Preloaded into the program (LD_PRELOAD): ends it, or fills its disk, at the n-th call that changes a file of a
// folder.
//
//     DPREDUCE_KILLER_FOLDER   whose files count
//     DPREDUCE_KILLER_AT       n, from 1 on; 0: never
//     DPREDUCE_KILLER_HOW      before: SIGKILL before the call; torn: a write gets half of its bytes first;
//                              full: from that call on no byte fits on the disk
//     DPREDUCE_KILLER_COUNT    a file that gets a byte for each such call
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

struct Killer {
  std::string folder = variable("DPREDUCE_KILLER_FOLDER");
  long at = std::atol(variable("DPREDUCE_KILLER_AT").c_str());
  std::string how = variable("DPREDUCE_KILLER_HOW");
  std::string count = variable("DPREDUCE_KILLER_COUNT");
  long calls = 0;
};

Killer& killer() {
  static Killer own;
  return own;
}

// Relative names are of the folder, in which the program runs.
bool is_inside(const char* path) {
  return path != nullptr && (path[0] != '/' || killer().folder.empty() ||
                             std::strncmp(path, killer().folder.c_str(), killer().folder.size()) == 0);
}

bool is_inside(int file) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  if (length <= 0 || killer().folder.empty()) return false;
  path[length] = '\0';
  return path[0] == '/' && is_inside(path);
}

// Whether the call finds the disk full; does not return where it is the last one.
bool is_full(bool writes, int file = -1, const void* bytes = nullptr, size_t size = 0) {
  Killer& own = killer();
  ++own.calls;
  if (!own.count.empty()) {
    const long count = ::syscall(SYS_openat, AT_FDCWD, own.count.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
    ::syscall(SYS_write, count, ".", 1);
    ::syscall(SYS_close, count);
  }
  if (own.at == 0 || own.calls < own.at) return false;
  if (own.how == "full") {
    errno = ENOSPC;
    return writes;
  }
  if (own.how == "torn" && file >= 0) ::syscall(SYS_write, file, bytes, size / 2);
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* bytes, size_t size) {
  if (is_inside(file) && is_full(true, file, bytes, size)) return -1;
  return ::syscall(SYS_write, file, bytes, size);
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  if (is_inside(file) && is_full(true)) return -1;
  return ::syscall(SYS_writev, file, parts, count);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t place) {
  if (is_inside(file) && is_full(true)) return -1;
  return ::syscall(SYS_pwrite64, file, bytes, size, place);
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off_t place) {
  return pwrite(file, bytes, size, place);
}

int fallocate(int file, int mode, off_t place, off_t size) {
  if (is_inside(file) && is_full(true)) return -1;
  return static_cast<int>(::syscall(SYS_fallocate, file, mode, place, size));
}

int fallocate64(int file, int mode, off_t place, off_t size) {
  return fallocate(file, mode, place, size);
}

int fsync(int file) {
  if (is_inside(file) && is_full(false)) return -1;
  return static_cast<int>(::syscall(SYS_fsync, file));
}

int fdatasync(int file) {
  if (is_inside(file) && is_full(false)) return -1;
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

int rename(const char* from, const char* to) {
  if (is_inside(to)) is_full(false);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (is_inside(to)) is_full(false);
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  if (is_inside(to)) is_full(false);
  return static_cast<int>(::syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}

int unlink(const char* path) {
  if (is_inside(path)) is_full(false);
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int ftruncate(int file, off_t size) {
  if (is_inside(file)) is_full(false);
  return static_cast<int>(::syscall(SYS_ftruncate, file, size));
}

}  // extern "C"
