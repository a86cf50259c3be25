#include "common/ranks/socket_wire.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/silos/frame.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kFrameBytesAtOnce = std::size_t{1} << 18;

// The relay has ended, and so has the run.
[[noreturn]] void throw_gone() {
  throw PeerFailed(ExitCode::kAggregationAborted, 0);
}

void send_all(int socket, const void* bytes, std::size_t length) {
  const char* next = static_cast<const char*>(bytes);
  while (length > 0) {
    const ssize_t sent = ::send(socket, next, length, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      throw AggregationAborted(
          "the messages of this party are not taken within --silo-timeout: another party takes none. Raise it, so that "
          "it covers a pass over the rows of the slowest silo");
    }
    if (sent <= 0) throw_gone();
    next += sent;
    length -= static_cast<std::size_t>(sent);
  }
}

}  // namespace

SocketWire::~SocketWire() {
  ::close(socket_);
}

void SocketWire::send(std::uint32_t to, std::vector<std::byte> bytes) {
  const EnvelopeHeader header{to, static_cast<std::uint32_t>(bytes.size()), 0};
  send_all(socket_, &header, sizeof(header));
  send_all(socket_, bytes.data(), bytes.size());
}

void SocketWire::set_send_timeout(std::chrono::milliseconds timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  timeval most{};
  most.tv_sec = seconds.count();
  most.tv_usec = std::chrono::microseconds(timeout - seconds).count();
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
}

void SocketWire::set_line(const LineTerms& terms) {
  const EnvelopeHeader header{0, sizeof(terms), kLineFlag};
  send_all(socket_, &header, sizeof(header));
  send_all(socket_, &terms, sizeof(terms));
}

std::optional<Message> SocketWire::whole_message() {
  EnvelopeHeader header;
  if (come_.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, come_.data(), sizeof(header));
  if (header.length > kLargestFrame) throw_gone();  // no relay of ours
  if (come_.size() - sizeof(header) < header.length) return std::nullopt;
  const auto begin = come_.begin() + sizeof(header);
  Message message{header.party, {begin, begin + header.length}, (header.flags & kFarewellFlag) != 0};
  come_.erase(come_.begin(), begin + header.length);
  return message;
}

bool SocketWire::read_some(WireClock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - WireClock::now()).count();
    pollfd readable{socket_, POLLIN, 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (ready == 0) return false;
    if (ready < 0 && errno != EINTR) throw_gone();
    if (ready < 0) continue;
    const std::size_t had = come_.size();
    come_.resize(had + kFrameBytesAtOnce);
    const ssize_t got = ::recv(socket_, come_.data() + had, kFrameBytesAtOnce, 0);
    come_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw_gone();
    return true;
  }
}

std::optional<Message> SocketWire::receive(WireClock::time_point until) {
  for (;;) {
    if (std::optional<Message> message = whole_message()) return message;
    if (!read_some(until)) return std::nullopt;
  }
}

}  // namespace dpreduce
