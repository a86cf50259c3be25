#include "common/ranks/relay.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/ranks/lifetime.hpp"
#include "common/ranks/party_process.hpp"
#include "common/ranks/peer_messages.hpp"
#include "common/ranks/socket_wire.hpp"
#include "common/silos/line.hpp"

namespace dpreduce {
namespace {

using Clock = WireClock;
constexpr auto kBeat = std::chrono::seconds(2);
constexpr auto kSilence = std::chrono::seconds(20);  // of a relay, after which its line counts as dead
constexpr auto kGrace = std::chrono::seconds(5);     // for a party to end after the coordinator has ended
constexpr auto kFarewellTime = std::chrono::seconds(10);
constexpr auto kLeaveTime = std::chrono::seconds(20);   // within which relays that are all there leave together
constexpr auto kLastChance = std::chrono::seconds(10);  // for a coordinator that every silo has given up to end
// How many bytes may wait for the party, and for all other relays together. At that limit nothing more is taken in.
constexpr std::size_t kMostForParty = std::size_t{64} << 20;
constexpr std::size_t kMostForPeers = std::size_t{256} << 20;
// The backoff grows with the time in which nothing has come or gone. So the relays of many silos leave a machine to the
// parties, and nobody waits much longer than it has waited already.
constexpr auto kShortestBackoff = std::chrono::microseconds(1000);
constexpr auto kLongestBackoff = std::chrono::microseconds(20000);
constexpr int kIdleTimeToBackoff = 8;

class Relay {
 public:
  Relay(int socket, pid_t process)
      : party_(socket, process), has_ended_(peers_count(), false), has_failed_(peers_count(), false) {
    party_.queue({static_cast<std::uint32_t>(peers_.rank()), static_cast<std::uint32_t>(peers_.size()), 0});
  }

  int run() {
    auto next_beat = Clock::now();
    auto last_move = next_beat;
    auto backoff = std::chrono::microseconds(1);
    while (!is_over()) {
      bool moved = peers_.free_sent();
      if (takes_from_party()) moved |= read_from_party();
      moved |= send_what_is_due();
      moved |= peers_.receive(
          [this](std::size_t coming) {
            return !party_.is_there() || party_.queued_bytes() + to_party_.bytes() + coming < kMostForParty;
          },
          [this](PeerMessages::Arrived& message) { take_message(message); });
      deliver_what_is_due();
      moved |= party_.write();
      notice_end_of_party();
      const auto now = Clock::now();
      if (now >= next_beat) {
        next_beat = now + kBeat;
        for_each_listener([&](int peer) {
          if (!has_ended_[static_cast<std::size_t>(peer)]) peers_.send_mark(peer, PeerTag::kBeat);
        });
      }
      lose_the_dead(now);
      end_what_is_lost(now);
      if (moved) {
        last_move = now;
        backoff = std::chrono::microseconds(1);
        continue;
      }
      const auto share = std::chrono::duration_cast<std::chrono::microseconds>((now - last_move) / kIdleTimeToBackoff);
      backoff = std::min(2 * backoff,
                         is_line_empty() ? std::clamp(share, kShortestBackoff, kLongestBackoff) : kShortestBackoff);
      party_.wait_for(backoff, takes_from_party());
    }
    leave();
    if (is_coordinator()) return party_.exit_code();
    return is_coordinator_lost_ ? static_cast<int>(ExitCode::kAggregationAborted) : 0;
  }

 private:
  std::size_t peers_count() const { return static_cast<std::size_t>(peers_.size()); }
  bool is_coordinator() const { return peers_.rank() == 0; }

  // Silos' relays and the coordinator's speak with each other, and silos' relays with nobody else.
  template <typename Work>
  void for_each_listener(const Work& work) {
    if (!is_coordinator()) return work(0);
    for (int peer = 1; peer < peers_.size(); ++peer) work(peer);
  }

  // The end of the coordinator's party ends the run; a silo's relay waits for that.
  bool is_over() const {
    if (party_.is_there()) return false;
    if (peers_.has_unsent() && Clock::now() < ended_at_ + kFarewellTime) return false;
    return is_coordinator() ? to_peers_.empty() : coordinator_has_ended_;
  }

  // Whether every other party has ended, as its relay has announced.
  bool all_have_ended() const { return std::find(has_ended_.begin() + 1, has_ended_.end(), false) == has_ended_.end(); }

  // Whether every silo has failed. Then no sum can be made any more; a coordinator that works notices that by itself.
  bool all_have_failed() const {
    return peers_.size() > 1 && std::find(has_failed_.begin() + 1, has_failed_.end(), false) == has_failed_.end();
  }

  bool takes_from_party() const {
    return party_.is_there() && party_.can_read() && peers_.unsent_bytes() + to_peers_.bytes() < kMostForPeers;
  }

  bool is_line_empty() const { return to_party_.empty() && to_peers_.empty(); }

  // `why`: where it is not that its process has ended.
  void announce_farewell(int of, std::string_view why = {}) {
    const auto text = std::as_bytes(std::span(why));
    to_party_.put({static_cast<std::uint32_t>(of), {text.begin(), text.end()}, true}, Clock::now());
    if (of == 0) to_party_.cut_short();
  }

  void deliver_what_is_due() {
    while (std::optional<Message> message = to_party_.take(Clock::now())) {
      const EnvelopeHeader header{message->from, static_cast<std::uint32_t>(message->bytes.size()),
                                  message->is_farewell ? kFarewellFlag : 0};
      party_.queue(header, std::move(message->bytes));
    }
  }

  bool read_from_party() {
    return party_.read([this](const EnvelopeHeader& header, std::span<const std::byte> bytes) {
      if (header.flags == kLineFlag) {
        set_line(bytes);
      } else {
        to_peers_.put({header.party, {bytes.begin(), bytes.end()}, false}, Clock::now());
      }
    });
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
        peers_.send_end(to, party_.exit_code());
      } else if (message->from >= has_ended_.size() || !has_ended_[message->from]) {
        peers_.send(to, std::move(message->bytes));
      }
    }
    return moved;
  }

  // Counts peers as lost whose relay is silent, whatever its party does: that one computes in a process of its own. So
  // does one that sends what no relay sends.
  void lose_the_dead(Clock::time_point now) {
    for_each_listener([&](int peer) {
      const auto place = static_cast<std::size_t>(peer);
      if (has_ended_[place]) return;
      if (peers_.is_refused(peer)) {
        lose(peer, "its relay has sent what no relay sends");
      } else if (now - peers_.heard(peer) > kSilence) {
        peers_.give_up(peer);
        lose(peer, "its line is dead: its relay is silent");
      }
    });
  }

  void lose(int peer, std::string_view why) {
    note_end_of(peer, true);
    announce_farewell(peer, why);
    if (peer == 0) is_coordinator_lost_ = true;
  }

  void note_end_of(int peer, bool has_failed) {
    has_ended_[static_cast<std::size_t>(peer)] = true;
    has_failed_[static_cast<std::size_t>(peer)] = has_failed;
    if (peer == 0) coordinator_has_ended_ = true;
  }

  void take_message(PeerMessages::Arrived& message) {
    if (message.tag == PeerTag::kLeave) leaves_alone_ = true;
    if (has_ended_[static_cast<std::size_t>(message.from)]) return;  // nothing comes after a farewell
    if (message.tag == PeerTag::kEnd) {
      note_end_of(message.from, message.bytes.front() != std::byte{0});
      announce_farewell(message.from);
    } else if (message.tag == PeerTag::kMessage && party_.is_there()) {
      to_party_.put({static_cast<std::uint32_t>(message.from), std::move(message.bytes), false}, Clock::now());
    }
  }

  // A silo's party that goes on when the coordinator has ended is ended, and so is a coordinator's that every silo has
  // given up.
  void end_what_is_lost(Clock::time_point now) {
    if (!party_.is_there()) return;
    if (coordinator_has_ended_) {
      if (!party_must_end_) party_must_end_ = now + kGrace;
      if (now > *party_must_end_) party_.kill();
    }
    if (is_coordinator() && all_have_failed()) {
      if (!party_must_end_) party_must_end_ = now + kLastChance;
      if (now > *party_must_end_ && !is_given_up_) {
        is_given_up_ = true;
        std::fprintf(stderr, "dpreduce: the coordinator, rank 0 does not go on, and every silo has given it up\n");
        party_.kill();
      }
    }
  }

  // Its last messages may still lie in the socket when the party has exited: they are read first.
  void notice_end_of_party() {
    if (party_.notice_exit() && party_.signal() != 0 && !coordinator_has_ended_) {
      std::fprintf(stderr, "dpreduce: %s %d was lost: killed by signal %d (%s)\n",
                   is_coordinator() ? "the coordinator, rank" : "silo", peers_.rank(), party_.signal(),
                   strsignal(party_.signal()));
    }
    if (!party_.notice_end()) return;
    ended_at_ = Clock::now();
    const auto announce_end_to = [&](int peer) {
      to_peers_.put({static_cast<std::uint32_t>(peer), {}, true}, ended_at_);
    };
    for_each_listener(announce_end_to);
  }

  // Whether it is time to leave without the others. A busy machine is no reason to: a process that leaves MPI alone
  // makes the launcher end the job with an exit code of the launcher's own. Only rank 0 knows whether anybody is lost.
  bool is_left_alone(Clock::duration waited) const {
    if (leaves_alone_ || waited >= kLeaveTime) return true;
    return waited >= kFarewellTime && (is_coordinator() ? !all_have_ended() : is_coordinator_lost_);
  }

  // Leaves MPI together with the others, or without those that do not come.
  void leave() {
    if (peers_.leave([this](Clock::duration waited) { return is_left_alone(waited); },
                     [this](PeerMessages::Arrived& message) { take_message(message); })) {
      return;
    }
    for (int peer = 1; is_coordinator() && peer < peers_.size(); ++peer) peers_.send_mark(peer, PeerTag::kLeave);
    std::fflush(nullptr);
    ::_exit(is_coordinator() ? party_.exit_code() : 0);
  }

  PeerMessages peers_;
  PartyProcess party_;
  Line to_party_;                 // what has come for the party
  Line to_peers_;                 // what the party has sent; `from` holds the receiver
  std::vector<bool> has_ended_;   // peers whose party has ended
  std::vector<bool> has_failed_;  // peers whose party has ended with an error
  std::optional<Clock::time_point> party_must_end_;
  Clock::time_point ended_at_{};
  bool is_given_up_ = false;  // all silos have given up the coordinator's party
  bool coordinator_has_ended_ = false;
  bool is_coordinator_lost_ = false;
  bool leaves_alone_ = false;  // the coordinator's relay has announced that it leaves alone
};

}  // namespace

int run_with_relay(const std::function<int(Wire& wire, int rank, int size)>& party, void (*before_the_end)() noexcept) {
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
