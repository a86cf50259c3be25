#include "common/base/file_descriptor.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/base/error.hpp"

namespace dpreduce {

std::size_t write_all(int file, std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(file, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

std::optional<std::size_t> read_at(int file, std::span<std::byte> bytes, std::uint64_t first) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(first + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

int with_kernel_name(int (*call)(int, const sockaddr*, socklen_t), int socket, std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  DPREDUCE_ASSERT(name.size() < sizeof(address.sun_path));
  std::ranges::copy(name, std::begin(address.sun_path) + 1);  // behind a 0: a name without a file
  return call(socket, reinterpret_cast<const sockaddr*>(&address),
              static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size()));
}

bool sync_folder_of(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path actual = std::filesystem::canonical(path, error);  // a link's folder is another one
  const std::filesystem::path& named = error ? path : actual;
  const std::filesystem::path folder = named.has_parent_path() ? named.parent_path() : ".";
  const FileDescriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return handle.get() >= 0 && ::fsync(handle.get()) == 0;
}

namespace {

constexpr std::string_view kCureOfModes =
    "name a path on another, or have it mounted with file mode 0600, as FAT, exFAT and SMB can be";

// How a file of such an address becomes one of this machine.
std::string_view fetched_by(std::string_view scheme) {
  if (scheme == "s3") return "aws s3 cp";
  if (scheme == "gs") return "gcloud storage cp";
  if (scheme == "http" || scheme == "https") return "curl -O";
  if (scheme == "hdfs") return "hdfs dfs -get";
  return "";
}

}  // namespace

bool is_for_want_of(int error_number, FileFeature needed) {
  return error_number == ENOLCK || error_number == ENOSYS || error_number == EOPNOTSUPP ||
         (error_number == EPERM && needed != FileFeature::kLocks);
}

std::string reason_of(int error_number, FileFeature needed) {
  const std::string reason = std::generic_category().message(error_number);
  if (!is_for_want_of(error_number, needed)) return reason;
  const std::string cause = reason + ": the file system ";
  switch (needed) {
    case FileFeature::kLocks:
      return cause +
             "has no locks (flock), as Lustre, NFS and FUSE mounted without them; name a path on a local disk, or "
             "have it mounted with locks";
    case FileFeature::kLinks:
      return cause + "has no hard links, as FAT, exFAT and some mounts of SMB and FUSE; name a path on another";
    default:
      return fmt::format("{}keeps no permissions; {}", cause, kCureOfModes);
  }
}

std::string forced_mode(int file) {
  constexpr mode_t kOwnerAlone = S_IRUSR | S_IWUSR;
  if (::fchmod(file, kOwnerAlone) != 0) return reason_of(errno, FileFeature::kModes);
  struct stat status {};
  if (::fstat(file, &status) != 0) return std::generic_category().message(errno);
  const mode_t mode = status.st_mode & mode_t{0777};
  if (mode == kOwnerAlone) return {};
  return fmt::format("it must have the permissions 0600, but the file system forces {:04o}; {}", mode, kCureOfModes);
}

bool has_name(int file, const std::filesystem::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

void require_local(const std::string& path) {
  const bool has_drive = path.size() > 2 && std::isalpha(static_cast<unsigned char>(path[0])) != 0 && path[1] == ':' &&
                         (path[2] == '\\' || path[2] == '/');
  if (has_drive || path.starts_with("\\\\")) {
    std::string mounted = has_drive ? fmt::format("/mnt/{:c}{}", std::tolower(path[0]), path.substr(2)) : "/mnt/...";
    std::ranges::replace(mounted, '\\', '/');
    throw BadInput(
        "{}: is a path of Windows; name the file as Linux sees it, which is {} under WSL (wslpath prints it)", path,
        mounted);
  }
  const std::string_view scheme = std::string_view(path).substr(0, std::min(path.find("://"), path.size()));
  const auto is_of_scheme = [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.'; };
  if (scheme.size() == path.size() || scheme.size() < 2 || !std::ranges::all_of(scheme, is_of_scheme)) return;
  const std::string_view command = fetched_by(scheme);
  throw BadInput(
      "{}: is an address ({}), but only files of this machine are read and written; copy it{} or mount the "
      "store, and give the path",
      path, scheme, command.empty() ? "," : fmt::format(" ({}),", command));
}

}  // namespace dpreduce
