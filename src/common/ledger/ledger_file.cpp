#include "common/ledger/ledger_file.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

namespace fs = std::filesystem;

constexpr off_t kLargestLedger = off_t{1} << 30;

[[noreturn]] void refuse(const fs::path& path, const std::string& what, int error_number) {
  throw BadInput(path.string() + ": " + what + ": " + std::generic_category().message(error_number));
}

// Repeats a system call that a signal interrupted.
template <typename Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

struct stat status_of(int file, const fs::path& path) {
  struct stat status;
  if (::fstat(file, &status) != 0) refuse(path, "cannot examine the ledger", errno);
  return status;
}

// Locks an open file. False where, meanwhile, another file has got its name: then the lock is on the wrong one.
bool lock(int file, const fs::path& path, int kind) {
  const struct stat opened = status_of(file, path);
  if (!S_ISREG(opened.st_mode)) throw BadInput(path.string() + ": the ledger must be a regular file");
  if (uninterrupted([&] { return ::flock(file, kind); }) != 0) refuse(path, "cannot lock the ledger", errno);
  struct stat named;
  return ::stat(path.c_str(), &named) == 0 && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

// Below 0 where there is no file, and none is to be made.
int open_locked(const fs::path& path, int flags, int kind) {
  while (true) {
    // Without O_NONBLOCK, opening a pipe would wait for its other end.
    const int file =
        uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644); });
    if (file < 0 && errno == ENOENT && !(flags & O_CREAT)) return file;
    if (file < 0) refuse(path, "cannot open the ledger", errno);
    try {
      if (lock(file, path, kind)) return file;
    } catch (...) {
      ::close(file);
      throw;
    }
    ::close(file);
  }
}

std::string read_all(int file, const fs::path& path) {
  const off_t size = status_of(file, path).st_size;
  if (size > kLargestLedger) throw BadInput(path.string() + ": the ledger is larger than 1 GiB; start a new one");
  std::string text(static_cast<std::size_t>(size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got =
        uninterrupted([&] { return ::pread(file, text.data() + done, text.size() - done, static_cast<off_t>(done)); });
    if (got < 0) refuse(path, "cannot read the ledger", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

// One write of the whole line at the end of the file, then sync; whatever fails, the file gets its former length again.
void write_durably(int file, const fs::path& path, const std::string& line, std::size_t former_length) {
  const ssize_t written = uninterrupted([&] { return ::write(file, line.data(), line.size()); });
  int error_number = written < 0 ? errno : 0;
  std::string what = "cannot write the ledger";
  if (written >= 0 && static_cast<std::size_t>(written) < line.size()) {
    // The kernel tells the reason of a short write only to the next one.
    error_number = ENOSPC;
    what = "cannot write the ledger (only " + std::to_string(written) + " of " + std::to_string(line.size()) +
           " bytes fitted: disk, quota or size limit)";
  } else if (written >= 0 && ::fsync(file) != 0) {
    error_number = errno;
    what = "cannot sync the ledger";
  }
  if (error_number == 0) return;
  const off_t length = static_cast<off_t>(former_length);
  if (uninterrupted([&] { return ::ftruncate(file, length); }) != 0) what += "; a torn last line remains";
  refuse(path, what, error_number);
}

void sync_folder(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const FileDescriptor handle(
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (handle.get() < 0 || ::fsync(handle.get()) != 0) refuse(folder, "cannot sync the ledger's folder", errno);
}

}  // namespace

LedgerFile::LedgerFile(fs::path path, Use use)
    : path_(std::move(path)),
      file_(use == Use::kRead ? open_locked(path_, O_RDONLY, LOCK_SH)
                              : open_locked(path_, O_RDWR | O_APPEND | O_CREAT, LOCK_EX)) {
  if (file_.get() >= 0) text_ = read_all(file_.get(), path_);
}

void LedgerFile::append(const std::string& lines) {
  if (text_.empty()) sync_folder(path_);  // the name first: a synced line in a file without a name is lost
  write_durably(file_.get(), path_, lines, text_.size());
  text_ += lines;
}

void LedgerFile::remove_if_empty() noexcept {
  struct stat status {};
  struct stat named {};
  if (file_.get() < 0 || ::fstat(file_.get(), &status) != 0 || status.st_size != 0) return;
  // Of a symbolic link the link would go, and the next run would begin another ledger under this name.
  if (::lstat(path_.c_str(), &named) == 0 && S_ISREG(named.st_mode)) ::unlink(path_.c_str());
}

}  // namespace dpreduce
