#include "common/data/output_claim.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kShownOfName = 32;  // the rest of a long name is in its hash

// The same for every path to the file, whoever asks.
std::string name_of_claim(const std::string& target) {
  const std::filesystem::path path(target);
  const std::string folder = path.parent_path().empty() ? "." : path.parent_path().string();
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return {};
  const std::string name = path.filename().string();
  return fmt::format("dpreduce {:x} {:x} {:x} {}", status.st_dev, status.st_ino, std::hash<std::string>{}(name),
                     name.substr(0, kShownOfName));
}

}  // namespace

OutputClaim::OutputClaim(const std::string& path, const std::string& target) {
  const std::string name = name_of_claim(target);
  if (name.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  static_assert(sizeof(address.sun_path) >= 100);                         // "dpreduce " + 3 (16 + 1) + 32 + 1
  std::copy(name.begin(), name.end(), std::begin(address.sun_path) + 1);  // behind a 0: a name without a file
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return;  // where sockets are forbidden there are no claims
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), length) == 0) return;
  const int reason = errno;
  ::close(std::exchange(socket_, -1));
  if (reason != EADDRINUSE) return;
  throw UsageError(
      fmt::format("{}: another process is writing it; give another name, or wait until it has ended", path));
}

OutputClaim::~OutputClaim() {
  if (socket_ >= 0) ::close(socket_);
}

OutputClaim& OutputClaim::operator=(OutputClaim&& other) noexcept {
  std::swap(socket_, other.socket_);
  return *this;
}

}  // namespace dpreduce
