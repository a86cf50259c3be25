#include "common/silos/file_claims.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "common/base/error.hpp"
#include "common/silos/parties.hpp"

namespace dpreduce {
namespace {

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

std::string FileClaims::name_of(const FileIdentity& array, std::uint32_t silo) const {
  const std::string digest =
      to_hex(sha256(fmt::format("{}/{}/{}/{}", to_hex(run_), array.device, array.inode, array.place)));
  return fmt::format("dpreduce/{}/{}", digest, silo);
}

void FileClaims::claim(const FileIdentity& array) {
  const int socket = sockets_.emplace_back(open_socket()).get();
  // A name that is taken is this silo's own, claimed before: as features and as labels.
  if (with_kernel_name(::bind, socket, name_of(array, silo_)) == 0 || errno == EADDRINUSE) return;
  throw BadInput("files of this silo cannot be compared with those of others on this machine: {}",
                 std::strerror(errno));
}

std::optional<std::uint32_t> FileClaims::earlier_claimant(const FileIdentity& array) const {
  for (std::uint32_t silo = 1; silo < silo_; ++silo) {
    const FileDescriptor asking(open_socket());
    if (with_kernel_name(::connect, asking.get(), name_of(array, silo)) == 0) return silo;
  }
  return std::nullopt;
}

}  // namespace dpreduce
