#include "dpreduce/randomness/key_file.hpp"

#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/config/file_descriptor.hpp"
#include "dpreduce/randomness/private_file.hpp"

namespace dpreduce {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeyBytes = 32;

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
  throw BadInput(fmt::format("--key {}: {}", path.string(), what));
}

[[noreturn]] void refuse_with_reason(const fs::path& path, const std::string& what) {
  refuse(path, fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

std::optional<NoiseKey> load(const fs::path& path) {
  const auto bytes = read_private_file(path, "--key", kKeyBytes);
  if (!bytes) return std::nullopt;
  if (bytes->size() != kKeyBytes) refuse(path, "is no key file: it does not hold 32 bytes");
  return NoiseKey::from_bytes(std::span<const std::byte, kKeyBytes>(bytes->data(), kKeyBytes));
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// A new file without a name in the folder of `path`; where the file system has none (no O_TMPFILE), one beside it.
class NewFile {
 public:
  explicit NewFile(const fs::path& path) : path_(path) {
    number_ = ::open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (number_ >= 0) {
      name_ = fmt::format("/proc/self/fd/{}", number_);
      if (::access(name_.c_str(), F_OK) == 0) return;
      ::close(number_);
    }
    name_ = beside_ = path.string() + fmt::format(".{}.tmp", ::getpid());
    ::unlink(beside_.c_str());  // of a killed process that had this number
    number_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (number_ < 0) refuse_with_reason(path, "cannot be made");
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    ::close(number_);
    if (!beside_.empty()) ::unlink(beside_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    if (::write(number_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) || ::fsync(number_) != 0) {
      refuse_with_reason(path_, "cannot be made");
    }
  }

  // A name that is there already wins.
  void link() {
    if (::linkat(AT_FDCWD, name_.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) != 0 && errno != EEXIST) {
      refuse_with_reason(path_, "cannot be made");
    }
  }

 private:
  fs::path path_;
  std::string name_;
  std::string beside_;  // to be removed; empty where the file had no name
  int number_ = -1;
};

// The name appears with the whole key in it, or not at all.
void make(const fs::path& path, const EntropySource& source) {
  const NoiseKey key = NoiseKey::from_entropy(source);
  const SecretVector<std::byte> bytes = key.bytes();
  NewFile file(path);
  file.write(bytes);
  file.link();
  const FileDescriptor handle(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle.get() < 0 || ::fsync(handle.get()) != 0) refuse_with_reason(path, "its folder cannot be synced");
}

}  // namespace

NoiseKey load_or_make_key(const fs::path& path, const EntropySource& source) {
  if (std::optional<NoiseKey> key = load(path)) return std::move(*key);
  make(path, source);
  if (std::optional<NoiseKey> key = load(path)) return std::move(*key);
  refuse(path, "vanished while it was made");
}

}  // namespace dpreduce
