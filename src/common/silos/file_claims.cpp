#include "common/silos/file_claims.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/base/error.hpp"
#include "common/silos/parties.hpp"

namespace dpreduce {
namespace {

// An address of the abstract namespace: a zero byte, then the name.
std::tuple<sockaddr_un, socklen_t> abstract_address(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  DPREDUCE_ASSERT(name.size() < sizeof(address.sun_path));
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

int open_socket() {
  int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0 && errno == EMFILE) {
    allow_most_descriptors();
    socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  }
  if (socket < 0) {
    throw BadInput(
        "files of this silo cannot be compared with those of others on this machine: {}; raise ulimit -n, "
        "or give fewer files",
        std::strerror(errno));
  }
  return socket;
}

}  // namespace

void allow_most_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string FileClaims::name_of(const ClaimedArray& array, std::uint32_t silo) const {
  const std::string digest =
      to_hex(sha256(fmt::format("{}/{}/{}/{}", to_hex(run_), array.device, array.inode, array.place)));
  return fmt::format("dpreduce/{}/{}", digest, silo);
}

void FileClaims::claim(const ClaimedArray& array) {
  const int socket = sockets_.emplace_back(open_socket()).get();
  const auto [address, length] = abstract_address(name_of(array, silo_));
  // A name that is taken is this silo's own, claimed before: as features and as labels.
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0 || errno == EADDRINUSE) return;
  throw BadInput("files of this silo cannot be compared with those of others on this machine: {}",
                 std::strerror(errno));
}

std::optional<std::uint32_t> FileClaims::earlier_claimant(const ClaimedArray& array) const {
  for (std::uint32_t silo = 1; silo < silo_; ++silo) {
    const FileDescriptor asking(open_socket());
    const auto [address, length] = abstract_address(name_of(array, silo));
    if (::connect(asking.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0) return silo;
  }
  return std::nullopt;
}

}  // namespace dpreduce
