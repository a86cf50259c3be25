#include "common/randomness/private_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/file_descriptor.hpp"
#include "common/base/output_file.hpp"

namespace dpreduce {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOwnerAlone = S_IRUSR | S_IWUSR;

[[noreturn]] void refuse(const fs::path& path, std::string_view what, const std::string& fault) {
  throw BadInput("{} {}: {}", what, path.string(), fault);
}

[[noreturn]] void refuse_with_reason(const fs::path& path, std::string_view what, std::string_view fault) {
  refuse(path, what, fmt::format("{}: {}", fault, std::generic_category().message(errno)));
}

void require_synced_folder(const fs::path& path, std::string_view what) {
  if (!sync_folder_of(path)) refuse_with_reason(path, what, "its folder cannot be synced");
}

}  // namespace

std::size_t require_private(int file, const fs::path& path, std::string_view what) {
  struct stat status {};
  if (::fstat(file, &status) != 0) refuse_with_reason(path, what, "cannot be examined");
  if (!S_ISREG(status.st_mode)) refuse(path, what, "must be a regular file");
  if (status.st_uid != ::geteuid()) {
    refuse(path, what,
           fmt::format(
               "belongs to another user (uid {}; this process runs as {}); run as that user, or use a file of your own",
               status.st_uid, ::geteuid()));
  }
  const mode_t mode = status.st_mode & mode_t{07777};
  if (mode == kOwnerAlone) return static_cast<std::size_t>(status.st_size);
  const bool others = (mode & (S_IRWXG | S_IRWXO)) != 0;
  refuse(path, what,
         fmt::format("has the permissions {:04o}, and must have 0600{}", mode,
                     others ? ": others than its owner may use it; after making sure that nobody did: chmod 600"
                            : "; chmod 600"));
}

std::optional<SecretVector<std::byte>> read_private_file(const fs::path& path, std::string_view what,
                                                         std::size_t most) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    refuse_with_reason(path, what, "cannot be opened");
  }
  SecretVector<std::byte> content(std::min(most, require_private(file.get(), path, what)) + 1);
  const auto length = read_at(file.get(), content);
  if (!length) refuse_with_reason(path, what, "cannot be read");
  content.resize(*length);
  return content;
}

void make_private_file(const fs::path& path, std::string_view what, std::span<const std::byte> bytes,
                       ExistingFile existing) {
  NewFile file(path.string(), kOwnerAlone);
  if (file.number() < 0) refuse_with_reason(path, what, "cannot be made");
  // An umask that takes from the owner would leave a file that is then refused.
  if (const std::string fault = forced_mode(file.number()); !fault.empty()) refuse(path, what, fault);
  if (write_all(file.number(), bytes) < bytes.size() || ::fsync(file.number()) != 0) {
    refuse_with_reason(path, what, "cannot be made");
  }
  if (!file.take_name()) {
    if (errno != EEXIST) refuse(path, what, "cannot be made: " + reason_of(errno, FileFeature::kLinks));
    if (existing == ExistingFile::kRefused) refuse(path, what, "already exists, and is never overwritten");
  }
  require_synced_folder(path, what);
}

bool destroy_private_file(const fs::path& path, std::string_view what) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    if (errno == ENOENT) return false;
    refuse_with_reason(path, what, "cannot be opened, to be destroyed");
  }
  std::size_t left = require_private(file.get(), path, what);
  constexpr std::array<std::byte, 4096> zeros{};
  bool done = true;
  while (done && left > 0) {
    const std::size_t count = std::min(left, zeros.size());
    done = write_all(file.get(), std::span(zeros).first(count)) == count;
    left -= count;
  }
  done = done && ::fsync(file.get()) == 0 && ::unlink(path.c_str()) == 0;
  if (!done) refuse_with_reason(path, what, "cannot be destroyed");
  require_synced_folder(path, what);
  return true;
}

}  // namespace dpreduce
