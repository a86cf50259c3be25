#include "common/ranks/party_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/file_descriptor.hpp"
#include "common/ranks/lifetime.hpp"

namespace dpreduce {
namespace {

struct PlaceInJob {
  int rank;
  int size;
  bool is_on_one_machine;
};

// False where the other end is gone.
bool receive_all(int socket, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

std::vector<std::string> exchange_over(int socket, int size, const std::string& own) {
  DPREDUCE_ASSERT(!own.empty() && own.size() <= kLongestJobText);
  JobText text{};
  std::ranges::copy(own, text.begin());
  std::vector<JobText> all(static_cast<std::size_t>(size));
  if (write_all(socket, std::as_bytes(std::span(text))) < text.size() ||
      !receive_all(socket, std::as_writable_bytes(std::span(all)))) {
    throw PeerFailed(ExitCode::kAggregationAborted, 0);
  }
  std::vector<std::string> texts;
  for (const JobText& of_rank : all) texts.emplace_back(of_rank.data());
  return texts;
}

}  // namespace

void PartyProcess::place(int rank, int size, bool is_on_one_machine) {
  const PlaceInJob place{rank, size, is_on_one_machine};
  write_all(socket_, std::as_bytes(std::span(&place, 1)));
}

JobText PartyProcess::text() const {
  JobText text{};
  if (!receive_all(socket_, std::as_writable_bytes(std::span(text)))) text = {};
  text.back() = '\0';
  return text;
}

void PartyProcess::tell(std::span<const JobText> of_all) const {
  write_all(socket_, std::as_bytes(of_all));
}

bool PartyProcess::notice_exit() {
  if (has_exited_) return false;
  int status = 0;
  if (::waitpid(process_, &status, WNOHANG) != process_) return false;
  has_exited_ = true;
  signal_ = WIFEXITED(status) ? 0 : WTERMSIG(status);
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(ExitCode::kAggregationAborted);
  return true;
}

void PartyProcess::kill() const {
  if (!has_exited_) ::kill(process_, SIGKILL);
}

std::variant<PartyProcess, int> fork_party(const std::function<int(const JobPlace&)>& party,
                                           void (*before_the_end)() noexcept) {
  int sockets[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    std::perror("dpreduce: socketpair");
    return static_cast<int>(ExitCode::kInternal);
  }
  const std::optional<pid_t> child = fork_worker(before_the_end);
  if (!child) return static_cast<int>(ExitCode::kInternal);
  ::close(sockets[*child == 0 ? 0 : 1]);
  if (*child != 0) return PartyProcess(sockets[0], *child);
  const int socket = sockets[1];
  PlaceInJob place{};
  if (!receive_all(socket, std::as_writable_bytes(std::span(&place, 1)))) {
    return static_cast<int>(ExitCode::kAggregationAborted);
  }
  return party({place.rank, place.size, place.is_on_one_machine,
                [&](const std::string& own) { return exchange_over(socket, place.size, own); }});
}

}  // namespace dpreduce
