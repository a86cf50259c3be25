#include "dpreduce/randomness/key_file.hpp"

#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpreduce/config/error.hpp"

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

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

std::optional<NoiseKey> load(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    refuse_with_reason(path, "cannot be opened");
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) refuse_with_reason(path, "cannot be examined");
  if (!S_ISREG(status.st_mode)) refuse(path, "must be a regular file");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    refuse(path, "others than its owner may use it; after making sure that nobody did: chmod 600");
  }
  SecretVector<std::byte> bytes(kKeyBytes + 1);
  const ssize_t got = ::read(file.get(), bytes.data(), bytes.size());
  if (got < 0) refuse_with_reason(path, "cannot be read");
  if (static_cast<std::size_t>(got) != kKeyBytes) refuse(path, "is no key file: it does not hold 32 bytes");
  return NoiseKey::from_bytes(std::span<const std::byte, kKeyBytes>(bytes.data(), kKeyBytes));
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
  const Descriptor handle(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
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
