#include "common/ranks/relay.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/peer_failed.hpp"
#include "common/ranks/lifetime.hpp"
#include "common/ranks/mpi_job.hpp"
#include "common/silos/frame.hpp"
#include "common/silos/line.hpp"

namespace dpreduce {
namespace {

using Clock = WireClock;
constexpr int kMessageTag = 1;
constexpr int kEndTag = 2;    // the sender's party has ended: its exit code, a byte
constexpr int kBeatTag = 3;   // a sign of life from the coordinator's relay
constexpr int kLeaveTag = 4;  // that relay leaves MPI without those that do not come
constexpr auto kBeat = std::chrono::seconds(5);
constexpr auto kSilence = std::chrono::seconds(60);  // after which the coordinator's relay counts as lost
constexpr auto kGrace = std::chrono::seconds(5);     // for a party to end after the coordinator has ended
constexpr auto kFarewellTime = std::chrono::seconds(10);
constexpr auto kLeaveTime = std::chrono::seconds(20);   // within which relays that are all there leave together
constexpr auto kLastChance = std::chrono::seconds(10);  // for a coordinator that every silo has given up to end
// How many bytes may wait for the party, and for all other relays together. At that limit nothing more is taken in,
// until a peer that has taken nothing for kSilence counts as lost.
constexpr std::size_t kMostForParty = std::size_t{64} << 20;
constexpr std::size_t kMostForPeers = std::size_t{256} << 20;
constexpr std::size_t kReadAtOnce = std::size_t{1} << 18;
// The backoff grows with the time in which nothing has come or gone. So the relays of many silos leave a machine to the
// parties, and nobody waits much longer than it has waited already.
constexpr auto kShortestBackoff = std::chrono::microseconds(1000);
constexpr auto kLongestBackoff = std::chrono::microseconds(20000);
constexpr int kIdleTimeToBackoff = 8;

class Relay {
 public:
  Relay(int socket, pid_t party) : socket_(socket), party_(party) {
    int provided = MPI_THREAD_SINGLE;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided), "MPI_Init_thread");
    try {
      require_one_kind(JobKind::kSilos);
    } catch (const Error&) {
      MPI_Finalize();  // no rank ends before this is told
      throw;
    }
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &job_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(job_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(job_, &rank_);
    MPI_Comm_size(job_, &size_);
    has_ended_.resize(static_cast<std::size_t>(size_), false);
    has_failed_.resize(static_cast<std::size_t>(size_), false);
    const EnvelopeHeader greeting{static_cast<std::uint32_t>(rank_), static_cast<std::uint32_t>(size_), 0};
    queue_bytes(&greeting, sizeof(greeting));
  }

  int run() {
    auto heard = Clock::now();
    auto next_beat = heard;
    std::optional<Clock::time_point> party_must_end;
    auto last_move = heard;
    auto backoff = std::chrono::microseconds(1);
    while (!is_over()) {
      bool moved = test_sends();
      give_up_on_the_stuck();
      if (is_party_there_) moved |= read_from_party();
      moved |= send_what_is_due();
      moved |= receive_from_peers(heard);
      deliver_what_is_due();
      moved |= write_to_party();
      reap();
      const auto now = Clock::now();
      if (rank_ == 0 && now >= next_beat) {
        next_beat = now + kBeat;
        for (int peer = 1; peer < size_; ++peer) send_mark(peer, kBeatTag);
      }
      if (rank_ != 0 && !coordinator_has_ended_ && now - heard > kSilence) coordinator_is_gone();
      if (coordinator_has_ended_ && is_party_there_) {
        if (!party_must_end) party_must_end = now + kGrace;
        if (now > *party_must_end) ::kill(party_, SIGKILL);
      }
      if (rank_ == 0 && is_party_there_ && all_have_failed()) {
        if (!party_must_end) party_must_end = now + kLastChance;
        if (now > *party_must_end && !is_given_up_) {
          is_given_up_ = true;
          std::fprintf(stderr, "dpreduce: the coordinator, rank 0 does not go on, and every silo has given it up\n");
          ::kill(party_, SIGKILL);
        }
      }
      if (moved) {
        last_move = now;
        backoff = std::chrono::microseconds(1);
        continue;
      }
      const auto share = std::chrono::duration_cast<std::chrono::microseconds>((now - last_move) / kIdleTimeToBackoff);
      backoff = std::min(2 * backoff,
                         is_line_empty() ? std::clamp(share, kShortestBackoff, kLongestBackoff) : kShortestBackoff);
      wait_for(backoff);
    }
    leave();
    if (rank_ == 0) return exit_code_;
    return is_coordinator_lost_ ? static_cast<int>(ExitCode::kAggregationAborted) : 0;
  }

 private:
  struct Outgoing {
    int to;
    std::vector<std::byte> bytes;
    Clock::time_point posted;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Incoming {
    int from;
    int tag;
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  // The end of the coordinator's party ends the run; a silo's relay waits for that.
  bool is_over() const {
    if (is_party_there_ || !come_.empty()) return false;
    if (!outgoing_.empty() && Clock::now() < ended_at_ + kFarewellTime) return false;
    return rank_ == 0 ? to_peers_.empty() : coordinator_has_ended_;
  }

  // Whether every silo has failed. Then no sum can be made any more; a coordinator that works notices that by itself.
  bool all_have_failed() const {
    return size_ > 1 && std::find(has_failed_.begin() + 1, has_failed_.end(), false) == has_failed_.end();
  }

  bool takes_from_party() const { return !is_socket_closed_ && outgoing_bytes_ + to_peers_.bytes() < kMostForPeers; }

  bool is_line_empty() const { return to_party_.empty() && to_peers_.empty(); }

  void wait_for(std::chrono::microseconds backoff) {
    pollfd ready{socket_, static_cast<short>(POLLIN | (for_party_.empty() ? 0 : POLLOUT)), 0};
    const timespec time{0, std::chrono::nanoseconds(backoff).count()};
    const nfds_t watched = is_party_there_ && takes_from_party() ? 1 : 0;
    ::ppoll(&ready, watched, &time, nullptr);
  }

  void queue_bytes(const void* bytes, std::size_t length) {
    if (!is_party_there_) return;
    const std::byte* from = static_cast<const std::byte*>(bytes);
    for_party_.emplace_back(from, from + length);
    for_party_bytes_ += length;
  }

  void announce_farewell(int of) {
    to_party_.put({static_cast<std::uint32_t>(of), {}, true}, Clock::now());
    if (of == 0) to_party_.cut_short();
  }

  void deliver_what_is_due() {
    while (std::optional<Message> message = to_party_.take(Clock::now())) {
      const EnvelopeHeader header{message->from, static_cast<std::uint32_t>(message->bytes.size()),
                                  message->is_farewell ? kFarewellFlag : 0};
      queue_bytes(&header, sizeof(header));
      if (!is_party_there_ || message->bytes.empty()) continue;
      for_party_bytes_ += message->bytes.size();
      for_party_.push_back(std::move(message->bytes));
    }
  }

  bool write_to_party() {
    bool moved = false;
    while (!for_party_.empty() && is_party_there_ && !is_socket_closed_) {
      const std::vector<std::byte>& first = for_party_.front();
      const ssize_t sent =
          ::send(socket_, first.data() + written_, first.size() - written_, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) break;
      moved = true;
      written_ += static_cast<std::size_t>(sent);
      for_party_bytes_ -= static_cast<std::size_t>(sent);
      if (written_ < first.size()) continue;
      for_party_.pop_front();
      written_ = 0;
    }
    return moved;
  }

  bool read_from_party() {
    if (!takes_from_party()) return false;
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
      if (come_.size() - used - sizeof(header) < header.length) break;
      const auto begin = come_.begin() + static_cast<std::ptrdiff_t>(used + sizeof(header));
      if (header.flags == kLineFlag) {
        set_line({come_.data() + used + sizeof(header), header.length});
      } else {
        to_peers_.put({header.party, {begin, begin + header.length}, false}, Clock::now());
      }
      used += sizeof(header) + header.length;
    }
    come_.erase(come_.begin(), come_.begin() + static_cast<std::ptrdiff_t>(used));
    return true;
  }

  void set_line(std::span<const std::byte> bytes) {
    LineTerms terms;
    DPREDUCE_ASSERT(bytes.size() == sizeof(terms));
    std::memcpy(&terms, bytes.data(), sizeof(terms));
    to_peers_.set(terms);
    to_party_.set(terms);
  }

  bool send_what_is_due() {
    bool moved = false;
    while (std::optional<Message> message = to_peers_.take(Clock::now())) {
      moved = true;
      const int to = static_cast<int>(message->from);
      if (message->is_farewell) {
        send_mark(to, kEndTag);
      } else {
        send_to_peer(to, std::move(message->bytes));
      }
    }
    return moved;
  }

  void send_to_peer(int to, std::vector<std::byte> bytes) {
    if (to < 0 || to >= size_ || to == rank_ || has_ended_[static_cast<std::size_t>(to)]) return;
    outgoing_bytes_ += bytes.size();
    outgoing_.push_back({to, std::move(bytes), Clock::now()});
    Outgoing& message = outgoing_.back();
    if (MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE, to, kMessageTag, job_,
                  &message.request) != MPI_SUCCESS) {
      outgoing_bytes_ -= message.bytes.size();
      outgoing_.pop_back();
    }
  }

  void send_mark(int to, int tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int length = tag == kEndTag ? 1 : 0;
    if (MPI_Isend(&end_mark_, length, MPI_BYTE, to, tag, job_, &request) == MPI_SUCCESS) MPI_Request_free(&request);
  }

  bool test_sends() {
    bool moved = false;
    for (auto message = outgoing_.begin(); message != outgoing_.end();) {
      int is_done = 0;
      if (MPI_Test(&message->request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done == 0) {
        ++message;
        continue;
      }
      outgoing_bytes_ -= message->bytes.size();
      message = outgoing_.erase(message);
      moved = true;
    }
    return moved;
  }

  // Gives up a peer that takes nothing, so that it does not keep the others from getting their messages.
  void give_up_on_the_stuck() {
    if (outgoing_bytes_ < kMostForPeers || Clock::now() - outgoing_.front().posted < kSilence) return;
    const int peer = outgoing_.front().to;
    has_ended_[static_cast<std::size_t>(peer)] = true;
    announce_farewell(peer);
    for (auto message = outgoing_.begin(); message != outgoing_.end();) {
      const auto next = std::next(message);
      if (message->to == peer) {
        outgoing_bytes_ -= message->bytes.size();
        abandoned_.splice(abandoned_.end(), outgoing_, message);
      }
      message = next;
    }
  }

  // Returns whether something came. Sets `heard` to the time of the last sign of life from the coordinator's relay.
  bool receive_from_peers(Clock::time_point& heard) {
    bool moved = begin_receiving(heard);
    // Many at once: a peer that is slow to send the rest of a message does not keep the others waiting.
    std::vector<bool> is_behind(static_cast<std::size_t>(size_), false);
    for (auto message = incoming_.begin(); message != incoming_.end();) {
      int is_done = 0;
      const auto from = static_cast<std::size_t>(message->from);
      if (!is_behind[from] && MPI_Test(&message->request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) is_done = 1;
      if (is_done == 0) {
        is_behind[from] = true;  // a peer's messages stay in their order
        ++message;
        continue;
      }
      moved = true;
      incoming_bytes_ -= message->bytes.size();
      if (message->from == 0) heard = Clock::now();
      take_message(*message);
      message = incoming_.erase(message);
    }
    return moved;
  }

  bool begin_receiving(Clock::time_point& heard) {
    bool moved = false;
    for (;;) {
      if (is_party_there_ && for_party_bytes_ + to_party_.bytes() + incoming_bytes_ >= kMostForParty) {
        heard = Clock::now();  // it is not listening now, so it cannot call the coordinator silent
        break;
      }
      int is_there = 0;
      MPI_Status status;
      MPI_Message message = MPI_MESSAGE_NULL;
      if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, job_, &is_there, &message, &status) != MPI_SUCCESS ||
          is_there == 0) {
        break;
      }
      int length = 0;
      MPI_Get_count(&status, MPI_BYTE, &length);
      incoming_.push_back(
          {status.MPI_SOURCE, status.MPI_TAG, std::vector<std::byte>(static_cast<std::size_t>(std::max(length, 0)))});
      Incoming& begun = incoming_.back();
      incoming_bytes_ += begun.bytes.size();
      moved = true;
      if (begun.from == 0) heard = Clock::now();
      if (MPI_Imrecv(begun.bytes.data(), length, MPI_BYTE, &message, &begun.request) != MPI_SUCCESS) {
        incoming_bytes_ -= begun.bytes.size();
        incoming_.pop_back();
        break;
      }
    }
    return moved;
  }

  void take_message(Incoming& message) {
    const auto from = static_cast<std::size_t>(message.from);
    if (message.tag == kEndTag) {
      has_ended_[from] = true;
      has_failed_[from] = message.bytes.size() != 1 || message.bytes.front() != std::byte{0};
      announce_farewell(message.from);
      if (message.from == 0) coordinator_has_ended_ = true;
    } else if (message.tag == kLeaveTag) {
      if (message.from == 0) leaves_alone_ = true;
    } else if (message.tag == kMessageTag && message.bytes.size() <= kLargestFrame && is_party_there_) {
      to_party_.put({static_cast<std::uint32_t>(message.from), std::move(message.bytes), false}, Clock::now());
    }
  }

  void coordinator_is_gone() {
    is_coordinator_lost_ = true;
    coordinator_has_ended_ = true;
    announce_farewell(0);
  }

  // Notices the end of the party. Its last messages may then still lie in the socket: they are read first.
  void reap() {
    if (!is_party_there_) return;
    if (!has_exited_) {
      int status = 0;
      if (waitpid(party_, &status, WNOHANG) != party_) return;
      has_exited_ = true;
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(ExitCode::kAggregationAborted);
      if (!WIFEXITED(status) && !coordinator_has_ended_) {
        std::fprintf(stderr, "dpreduce: %s %d was lost: killed by signal %d (%s)\n",
                     rank_ == 0 ? "the coordinator, rank" : "silo", rank_, WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
      }
    }
    if (!is_socket_closed_) return;
    is_party_there_ = false;
    end_mark_ = static_cast<std::byte>(exit_code_);
    ended_at_ = Clock::now();
    come_.clear();
    for_party_.clear();
    for_party_bytes_ = 0;
    const auto announce_end_to = [&](int peer) {
      to_peers_.put({static_cast<std::uint32_t>(peer), {}, true}, ended_at_);
    };
    if (rank_ != 0) {
      announce_end_to(0);
      return;
    }
    for (int peer = 1; peer < size_; ++peer) announce_end_to(peer);
  }

  // Whether every other party has ended, as its relay has announced.
  bool all_have_ended() const { return std::find(has_ended_.begin() + 1, has_ended_.end(), false) == has_ended_.end(); }

  // Whether it is time to leave without the others. A busy machine is no reason to: a process that leaves MPI alone
  // makes the launcher end the job with an exit code of the launcher's own. Only rank 0 knows whether anybody is lost.
  bool is_left_alone(Clock::time_point since) const {
    const auto waited = Clock::now() - since;
    if (leaves_alone_ || waited >= kLeaveTime) return true;
    return waited >= kFarewellTime && (rank_ == 0 ? !all_have_ended() : is_coordinator_lost_);
  }

  // Leaves MPI together with the others, as MPI demands, or without those that do not come.
  void leave() {
    MPI_Request all = MPI_REQUEST_NULL;
    const auto since = Clock::now();
    Clock::time_point heard;
    int is_done = 0;
    if (outgoing_.empty() && abandoned_.empty() && MPI_Ibarrier(job_, &all) == MPI_SUCCESS) {
      while ((is_done == 0 || !incoming_.empty()) && !is_left_alone(since)) {
        if (is_done == 0 && MPI_Test(&all, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
        receive_from_peers(heard);
        ::usleep(static_cast<useconds_t>(kShortestBackoff.count()));
      }
    }
    if (is_done != 0 && incoming_.empty()) {
      MPI_Finalize();
      return;
    }
    for (int peer = 1; rank_ == 0 && peer < size_; ++peer) send_mark(peer, kLeaveTag);
    std::fflush(nullptr);
    ::_exit(rank_ == 0 ? exit_code_ : 0);
  }

  int socket_;
  pid_t party_;
  MPI_Comm job_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::vector<std::byte> come_;                   // bytes from the party that are not yet whole messages
  std::deque<std::vector<std::byte>> for_party_;  // what waits to be written to the party
  std::size_t for_party_bytes_ = 0;
  std::size_t written_ = 0;       // bytes of the first of these
  Line to_party_;                 // what has come for the party
  Line to_peers_;                 // what the party has sent; `from` holds the receiver
  std::list<Incoming> incoming_;  // in the order in which they began to come
  std::size_t incoming_bytes_ = 0;
  std::list<Outgoing> outgoing_;
  std::size_t outgoing_bytes_ = 0;
  std::list<Outgoing> abandoned_;  // to lost peers: MPI may still read them
  std::vector<bool> has_ended_;    // peers whose party has ended
  std::vector<bool> has_failed_;   // peers whose party has ended with an error
  std::byte end_mark_{0};
  bool is_given_up_ = false;  // all silos have given up the coordinator's party
  bool is_party_there_ = true;
  bool has_exited_ = false;
  bool is_socket_closed_ = false;
  Clock::time_point ended_at_{};
  int exit_code_ = 0;
  bool coordinator_has_ended_ = false;
  bool is_coordinator_lost_ = false;
  bool leaves_alone_ = false;  // the coordinator's relay has announced that it leaves alone
};

}  // namespace

int run_with_relay(const std::function<int(SocketWire& wire, int rank, int size)>& party,
                   void (*before_the_end)() noexcept) {
  int sockets[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    std::perror("dpreduce: socketpair");
    return static_cast<int>(ExitCode::kInternal);
  }
  const std::optional<pid_t> child = fork_worker(before_the_end);
  if (!child) return static_cast<int>(ExitCode::kInternal);
  if (*child == 0) {
    ::close(sockets[0]);
    SocketWire wire(sockets[1]);
    EnvelopeHeader greeting;
    if (::recv(sockets[1], &greeting, sizeof(greeting), MSG_WAITALL) != static_cast<ssize_t>(sizeof(greeting))) {
      return static_cast<int>(ExitCode::kAggregationAborted);
    }
    return party(wire, static_cast<int>(greeting.party), static_cast<int>(greeting.length));
  }
  ::close(sockets[1]);
  try {
    return Relay(sockets[0], *child).run();
  } catch (const PeerFailed& failure) {
    ::kill(*child, SIGKILL);
    return static_cast<int>(failure.code());
  } catch (const Error& error) {
    std::fprintf(stderr, "dpreduce: %s\n", error.what());
    ::kill(*child, SIGKILL);
    return static_cast<int>(error.code());
  }
}

}  // namespace dpreduce
