#include "common/ranks/party_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/base/error.hpp"
#include "common/silos/frame.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{1} << 18;

}  // namespace

bool PartyProcess::notice_exit() {
  if (has_exited_) return false;
  int status = 0;
  if (::waitpid(process_, &status, WNOHANG) != process_) return false;
  has_exited_ = true;
  signal_ = WIFEXITED(status) ? 0 : WTERMSIG(status);
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(ExitCode::kAggregationAborted);
  return true;
}

bool PartyProcess::notice_end() {
  if (!is_there_ || !has_exited_ || !is_socket_closed_) return false;
  is_there_ = false;
  queue_.clear();
  queued_bytes_ = 0;
  return true;
}

void PartyProcess::kill() {
  ::kill(process_, SIGKILL);
}

void PartyProcess::queue(const EnvelopeHeader& header, std::vector<std::byte> body) {
  if (!is_there_) return;
  const auto* from = reinterpret_cast<const std::byte*>(&header);
  queue_.emplace_back(from, from + sizeof(header));
  queued_bytes_ += sizeof(header) + body.size();
  if (!body.empty()) queue_.push_back(std::move(body));
}

bool PartyProcess::write() {
  bool moved = false;
  while (!queue_.empty() && is_there_ && !is_socket_closed_) {
    const std::vector<std::byte>& first = queue_.front();
    const ssize_t sent = ::send(socket_, first.data() + written_, first.size() - written_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) break;
    moved = true;
    written_ += static_cast<std::size_t>(sent);
    queued_bytes_ -= static_cast<std::size_t>(sent);
    if (written_ < first.size()) continue;
    queue_.pop_front();
    written_ = 0;
  }
  return moved;
}

bool PartyProcess::read(const std::function<void(const EnvelopeHeader&, std::span<const std::byte>)>& take) {
  if (is_socket_closed_) return false;
  const std::size_t had = come_.size();
  come_.resize(had + kReadAtOnce);
  const ssize_t got = ::recv(socket_, come_.data() + had, kReadAtOnce, MSG_DONTWAIT);
  come_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
    is_socket_closed_ = true;
    come_.clear();  // holds at most the beginning of a message
    return true;
  }
  if (got <= 0) return false;
  std::size_t used = 0;
  EnvelopeHeader header;
  while (come_.size() - used >= sizeof(header)) {
    std::memcpy(&header, come_.data() + used, sizeof(header));
    if (header.length > kLargestFrame) {  // no party of ours
      kill();
      is_socket_closed_ = true;
      come_.clear();
      return true;
    }
    if (come_.size() - used - sizeof(header) < header.length) break;
    take(header, {come_.data() + used + sizeof(header), header.length});
    used += sizeof(header) + header.length;
  }
  come_.erase(come_.begin(), come_.begin() + static_cast<std::ptrdiff_t>(used));
  return true;
}

void PartyProcess::wait_for(std::chrono::microseconds time, bool reads) const {
  pollfd ready{socket_, static_cast<short>(POLLIN | (queue_.empty() ? 0 : POLLOUT)), 0};
  const timespec most{0, std::chrono::nanoseconds(time).count()};
  ::ppoll(&ready, is_there_ && reads ? 1 : 0, &most, nullptr);
}

}  // namespace dpreduce
