#include "dpreduce/randomness/key_file.hpp"

#include <cerrno>
#include <optional>
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

// Writes beside and links, so that the name appears with the whole key in it, or not at all; a name that is there
// already wins.
void make(const fs::path& path, const EntropySource& source) {
  const NoiseKey key = NoiseKey::from_entropy(source);
  const SecretVector<std::byte> bytes = key.bytes();
  const fs::path beside = path.string() + fmt::format(".{}.tmp", ::getpid());
  ::unlink(beside.c_str());
  const Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) refuse_with_reason(path, "cannot be made");
  const bool written =
      ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) && ::fsync(file.get()) == 0;
  const bool named = written && (::link(beside.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int reason = errno;
  ::unlink(beside.c_str());
  errno = reason;
  if (!named) refuse_with_reason(path, "cannot be made");
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const Descriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
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
