// Open files of this machine by their number, operations on whole files, and checks of paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace dpreduce {

// An open file by its number, and what is done with all of it.

/// Closes the file in the end. Below 0: none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  /// Closes it now. Returns whether the system reports no error.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

// Calls that a signal interrupts are repeated. Where one fails, errno is the reason.

/// Number of bytes written: fewer than all if the file takes no more.
std::size_t write_all(int file, std::span<const std::byte> bytes);

/// Fills `bytes` from the file's byte `first` on, and returns how many it has; nothing where it cannot be read.
std::optional<std::size_t> read_at(int file, std::span<std::byte> bytes, std::uint64_t first = 0);

/// Calls `call` (::bind, ::connect) for a socket of this machine, with a name in the kernel's abstract namespace: it
/// has no file, and is free when its socket is closed. Returns what the call returns. Precondition (asserted): the name
/// fits.
int with_kernel_name(int (*call)(int, const sockaddr*, socklen_t), int socket, std::string_view name);

/// Makes the names durable in the folder where the file of that path lies, behind links. Returns whether it could.
bool sync_folder_of(const std::filesystem::path& path);

/// Features that not every file system has.
enum class FileFeature { kLocks, kLinks, kModes };

/// Returns whether a call that needs the feature fails so because the file system lacks it.
bool is_for_want_of(int error_number, FileFeature needed);

/// The system's reason for a failed call that needs the feature; if the file system lacks it, that cause, and what to
/// do.
std::string reason_of(int error_number, FileFeature needed);

/// Gives the open file the permissions 0600. If the file system forces others on it, returns what is wrong, with what
/// to do; else an empty text.
std::string forced_mode(int file);

/// Returns whether the open file is the one of that name; a link is not followed.
bool has_name(int file, const std::filesystem::path& path);

// Paths of files on this machine, as all paths here are.

/// Throws BadInput where the path is an address of a store, as s3://bucket/x.npy: such a file must be fetched first.
void require_local(const std::string& path);

}  // namespace dpreduce
