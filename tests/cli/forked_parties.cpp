#include "tests/cli/forked_parties.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <system_error>

#include <sys/socket.h>
#include <unistd.h>

#include "commands/job.hpp"
#include "common/base/output_file.hpp"
#include "common/ranks/lifetime.hpp"
#include "common/ranks/party_process.hpp"
#include "common/ranks/socket_wire.hpp"
#include "tests/attacks/lying_sessions.hpp"
#include "tests/cli/program_run.hpp"

namespace dpreduce {
namespace {

constexpr auto kGrace = std::chrono::seconds(5);
constexpr useconds_t kPauseInMicroseconds = 500;

// Carries what the coordinator (0) and its silos send each other.
class Exchange {
 public:
  void add(int socket, pid_t process) { parties_.emplace_back(socket, process); }

  int run() {
    while (std::ranges::any_of(parties_, &PartyProcess::is_there)) {
      bool has_moved = false;
      for (std::uint32_t from = 0; from < parties_.size(); ++from) {
        PartyProcess& party = parties_[from];
        has_moved |= party.read([&](const EnvelopeHeader& header, std::span<const std::byte> bytes) {
          DPREDUCE_ASSERT(header.flags == 0 && header.party < parties_.size());
          parties_[header.party].queue({from, header.length, 0}, {bytes.begin(), bytes.end()});
        });
        has_moved |= party.write();
        party.notice_exit();
        if (party.notice_end()) announce_end_of(from);
      }
      if (must_end_ && WireClock::now() > *must_end_) std::ranges::for_each(parties_, &PartyProcess::kill);
      if (!has_moved) ::usleep(kPauseInMicroseconds);
    }
    return parties_.front().exit_code();
  }

 private:
  void announce_end_of(std::uint32_t party) {
    const EnvelopeHeader farewell{party, 0, kFarewellFlag};
    if (party != 0) return parties_.front().queue(farewell);
    std::for_each(parties_.begin() + 1, parties_.end(), [&](PartyProcess& silo) { silo.queue(farewell); });
    must_end_ = WireClock::now() + kGrace;
  }

  std::vector<PartyProcess> parties_;
  std::optional<WireClock::time_point> must_end_;
};

}  // namespace

std::vector<std::vector<std::string>> arguments_of_parties(const std::vector<std::string>& arguments, int ranks) {
  const auto colon = std::ranges::find(arguments, ":");
  std::vector<std::vector<std::string>> parties(static_cast<std::size_t>(ranks), {arguments.begin(), colon});
  if (colon == arguments.end()) return parties;
  constexpr std::ptrdiff_t kOfLauncher = 4;  // ":", "-n", a number, the program
  if (colon[3] != program_path()) return {};
  const auto further = arguments_of_parties({colon + kOfLauncher, arguments.end()}, std::stoi(colon[2]));
  if (further.empty()) return {};
  parties.insert(parties.end(), further.begin(), further.end());
  return parties;
}

int run_forked_parties(const std::vector<std::vector<std::string>>& arguments) {
  const int size = static_cast<int>(arguments.size());
  Exchange exchange;
  ::setenv("OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(size).c_str(), 1);
  for (int rank = 0; rank < size; ++rank) {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
      throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    ::setenv("OMPI_COMM_WORLD_RANK", std::to_string(rank).c_str(), 1);
    const std::optional<pid_t> child = fork_worker(AtomicFile::remove_unfinished);
    if (!child) return static_cast<int>(ExitCode::kInternal);
    if (*child == 0) {
      ::close(sockets[0]);
      SocketWire wire(sockets[1]);
      std::vector<std::string> words = arguments[static_cast<std::size_t>(rank)];
      const LyingSessions maker(take_fault(words));
      return run_party(words, wire, rank, size, maker);
    }
    ::close(sockets[1]);
    exchange.add(sockets[0], *child);
  }
  return exchange.run();
}

}  // namespace dpreduce
