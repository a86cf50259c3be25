// Line to another party: the format of messages inside TLS, a reliable link, and the line on top of it.
//
// Format of a message between the two ends of a line:
//
//     kind (1), length (4), then that many bytes; numbers are little-endian
//
//     greeting  silo -> coordinator, first of all   "dpN2", nonce of its process (32), number of received messages (8),
//                                                   number of this connection, counted from 1 (8)
//     welcome   coordinator -> silo, the answer     the same of the coordinator, with the silo's connection that binds
//     refusal   coordinator -> silo, the answer     reason, at most kLongestReason bytes; the line ends
//     not yet   coordinator -> silo, the answer     the same, for as long as an older line of this identity is open
//     message   either                              its number (8), a sealed frame
//     leave     either, the last                    its number (8), reason, at most kLongestReason bytes
//     received  either, whenever something came     number of received messages (8); also a sign of life
//
// The length and the kind, which must be due, are checked before memory is allocated.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/silos/frame.hpp"
#include "network/tls_connection.hpp"

namespace dpreduce {

enum class LinkKind : std::uint8_t { kGreeting = 1, kWelcome, kRefusal, kMessage, kLeave, kReceived, kNotYet };

/// Nonce that a process draws when it starts, and never writes to a disk: a restarted process has another.
using ProcessNonce = std::array<std::byte, 32>;

inline constexpr std::size_t kLongestReason = 300;
inline constexpr std::size_t kLinkHeader = 5;

struct Greeting {
  ProcessNonce process{};
  std::uint64_t received = 0;
  std::uint64_t connection = 0;  ///< of the silo's process, counted from 1
};

std::vector<std::byte> greeting_message(LinkKind kind, const Greeting& greeting);
/// Message "refusal" or "not yet".
std::vector<std::byte> refusal_message(std::string_view reason, LinkKind kind = LinkKind::kRefusal);
/// Message of kind "message", "leave" or, without bytes, "received" with that number.
std::vector<std::byte> numbered_message(LinkKind kind, std::uint64_t number, std::span<const std::byte> bytes = {});

/// Text of another party, fit to be shown: printable ASCII, at most kLongestReason of it.
std::string shown_reason(std::span<const std::byte> text);

struct LinkMessage {
  LinkKind kind = LinkKind::kReceived;
  Greeting greeting;         ///< of greeting and welcome
  std::uint64_t number = 0;  ///< of message, leave and received
  std::vector<std::byte> bytes;
};

/// Cutter of received bytes into messages. It keeps at most one incomplete message, of at most its kind's length.
class LinkReader {
 public:
  /// Starts before the first message, which must be of kind `first`; if kWelcome is due, also a refusal or "not yet".
  explicit LinkReader(LinkKind first) : first_(first) {}

  void add(std::span<const std::byte> bytes);
  /// Returns the next complete message, or nullopt. Throws AggregationAborted if the received bytes are no message: of
  /// no known kind, of a kind that is not due, or longer or shorter than that kind may be.
  std::optional<LinkMessage> next();

 private:
  LinkKind first_;
  bool has_begun_ = false;
  std::vector<std::byte> incoming_;
  std::size_t used_ = 0;  // of incoming_
};

// Link between two processes whose messages outlive the connections between them: no message is lost.
//
//     sent_i, i = 1, 2, ...    kept until the other end reports that it has received i
//     a new connection         each end reports how many it has received; the other goes on with the next one
//
// A message that is sent again has the same bytes: a frame is sealed once. Memory is bounded: a sender waits while too
// much is kept. The link uses no socket.

class ReliableLink {
 public:
  /// Limit of kept bytes: one more message is taken while fewer bytes are kept. Small messages are taken up to
  /// kForSmall bytes beyond the limit, so that a farewell waits behind no broadcast.
  static constexpr std::size_t kMostKept = std::size_t{32} << 20;
  static constexpr std::size_t kSmall = 1024;
  static constexpr std::size_t kForSmall = kLargestFrame + 64 * kSmall;

  explicit ReliableLink(std::size_t most_kept = kMostKept) : most_kept_(most_kept) {}

  /// Returns whether a message of that size may be put now.
  bool has_room(std::size_t bytes) const { return kept_bytes_ < most_kept_ + (bytes > kSmall ? 0 : kForSmall); }
  /// Numbers a message or "leave", and keeps it.
  void put(LinkKind kind, std::span<const std::byte> bytes);

  /// Returns the next message that this connection has not been given, with its header; empty if all were given.
  std::span<const std::byte> next();
  /// Returns whether the other end has received all messages that were put.
  bool is_settled() const { return kept_.empty(); }

  /// Records how many messages the other end has received. Throws AggregationAborted if the number is impossible: more
  /// than were given to a connection, or fewer than the other end reported before.
  void take_received(std::uint64_t received);
  /// Begins a new connection, with the other end's first report of how many it has received. Throws as take_received.
  void begin_connection(std::uint64_t received);

  /// Records that a message of that number has come. Throws AggregationAborted if it is not the next one.
  void take_number(std::uint64_t number);
  std::uint64_t received() const { return received_; }

 private:
  std::size_t most_kept_;
  std::deque<std::vector<std::byte>> kept_;  // the first has number settled_ + 1
  std::size_t kept_bytes_ = 0;
  std::size_t given_ = 0;         // of kept_, to this connection
  std::uint64_t settled_ = 0;     // messages that the other end has received
  std::uint64_t put_ = 0;         // numbers so far
  std::uint64_t most_given_ = 0;  // the largest number that any connection was given
  std::uint64_t received_ = 0;
};

// Line to one other party: its link, and its current connection.
//
// If a connection ends, or nothing comes on it, the line breaks and a timer starts: the party has LineTimes::reconnect
// to make a new connection. After that the party is lost. A party has left once it reports so. Callers of a line hold
// one lock for all of it.

enum class LineState { kAbsent, kOpen, kBroken, kLeft, kLost };
template <>
inline constexpr auto spellings<LineState> = spelled<LineState>("absent", "here", "connecting again", "left", "lost");

/// Times of a line, such as the longest that it may be silent or broken. Over a network all follow from --silo-timeout.
/// In a job a connection ends only with the process or the machine at its other end, as the kernels report
/// (tls_connection.hpp). Then the party is lost at once, and silence, however long, has no meaning.
struct LineTimes {
  std::chrono::milliseconds reconnect;  ///< of a broken line, until its party is lost
  std::chrono::milliseconds silence;    ///< of a connection, until it counts as dead
  std::chrono::milliseconds beat;       ///< between two signs of life
  std::chrono::milliseconds visit;      ///< of a connection, until it has proved its identity
  std::chrono::milliseconds attempt;    ///< of one attempt to connect, until the next one
  std::chrono::milliseconds farewell;   ///< for the others to receive all messages before a party ends

  static LineTimes of(std::chrono::milliseconds silo_timeout);
  static LineTimes of_job(bool is_coordinator);
};

/// Limits on the bytes of a line's messages: `kept` for those kept until the other end has received them, `waiting` for
/// those received and not yet taken, at which reading stops. All lines of a party together have at most kKeptByAll and
/// kWaitingForAll, and a message or two each in addition.
struct LineRoom {
  static constexpr std::size_t kKeptByAll = std::size_t{512} << 20;
  static constexpr std::size_t kWaitingForAll = std::size_t{128} << 20;
  static constexpr std::size_t kMostWaiting = std::size_t{8} << 20;
  std::size_t kept;
  std::size_t waiting;

  static LineRoom of(std::size_t lines);
};

class PartyLine {
 public:
  using Clock = std::chrono::steady_clock;
  /// Most connections that a party may make in a run: more would exhaust the other parties.
  static constexpr std::uint64_t kMostConnections = 10'000;
  /// Bytes that a waiting message counts in addition, so that the number of small messages is bounded too.
  static constexpr std::size_t kBesideMessage = 64;

  /// Callbacks of the line.
  struct Events {
    std::function<void(std::vector<std::byte> bytes)> message;
    std::function<void(const std::string& why)> left;
    std::function<void(const std::string& why)> broken;
    std::function<void()> changed;  ///< there may be room for more
  };

  PartyLine(LineTimes times, LineRoom room, std::mutex& lock, Events events)
      : times_(times), room_(room), lock_(lock), events_(std::move(events)), link_(room.kept) {}

  LineState state() const { return state_; }
  const std::optional<ProcessNonce>& process() const { return process_; }
  ReliableLink& link() { return link_; }
  const std::string& why_broken() const { return why_broken_; }
  /// Returns whether the party has broken the protocol.
  bool has_deviated() const { return has_deviated_; }
  std::chrono::milliseconds reconnect_time() const { return times_.reconnect; }

  /// Replaces an older connection by a new connection of the party's process. `first` is sent before all else; `reader`
  /// may have further received bytes. Returns whether to read on now: false if the line is full. Throws
  /// AggregationAborted if the greeting is impossible, or the party has made more than kMostConnections.
  bool attach(std::shared_ptr<TlsConnection> connection, LinkReader reader, const Greeting& greeting,
              std::vector<std::byte> first);
  /// Goes on without the party.
  void give_up() { state_ = LineState::kLost; }
  /// Sets a lost party back to broken: its line has again the time LineTimes::reconnect to be made.
  void wait_longer() {
    state_ = LineState::kBroken;
    broken_at_ = Clock::now();
  }
  /// Forgets a process that has gone before anything was sent. Precondition (asserted): the line is not open.
  void forget();

  void flush();
  /// Reports to the other party that this party ends, and why.
  void leave(std::string_view why);
  /// Returns whether the party has received all messages, and knows that all of its own have come; or is gone.
  bool is_settled() const;
  /// Records that a message of `bytes` bytes was taken.
  void taken(std::size_t bytes);
  /// Sends signs of life, and ends a dead connection. Returns whether the party has become lost.
  bool tick(Clock::time_point now);

 private:
  // Takes received bytes; while the line is full they wait in the reader. Returns whether to read on.
  bool take(const TlsConnection* from, std::span<const std::byte> bytes);
  void take_message(LinkMessage message);
  void fill(std::vector<std::byte>& out);
  void break_off(const std::string& why);

  LineTimes times_;
  LineRoom room_;
  std::mutex& lock_;
  Events events_;
  LineState state_ = LineState::kAbsent;
  bool is_leaving_ = false;  // this party is leaving
  std::optional<ProcessNonce> process_;
  ReliableLink link_;
  std::shared_ptr<TlsConnection> connection_;
  LinkReader reader_{LinkKind::kGreeting};
  std::vector<std::byte> first_;
  bool owes_received_ = false;
  std::size_t waiting_ = 0;
  bool is_paused_ = false;
  std::uint64_t connections_ = 0;
  Clock::time_point heard_{};
  Clock::time_point beat_{};
  Clock::time_point broken_at_{};
  std::string why_broken_;
  bool has_deviated_ = false;
};

}  // namespace dpreduce
