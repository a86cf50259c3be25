// Messages between two processes that outlive the connections between them.
//
//     sent_i, i = 1, 2, ...    kept until the other end says that it has received i
//     a new connection         each end says how many it has received; the other goes on with the next one
//
// What is sent again is the same bytes: a frame is sealed once. Memory is bounded: whoever sends waits while too much
// is kept. Nothing here knows a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "network/link_message.hpp"

namespace dpreduce {

class ReliableLink {
 public:
  /// What may be kept: one more message is taken while less is. Small ones are taken beyond that, some of them, so that
  /// a farewell waits behind no broadcast.
  static constexpr std::size_t kMostKept = std::size_t{32} << 20;
  static constexpr std::size_t kSmall = 1024;
  static constexpr std::size_t kForSmall = kLargestFrame + 64 * kSmall;

  explicit ReliableLink(std::size_t most_kept = kMostKept) : most_kept_(most_kept) {}

  /// Whether a message of so many bytes is taken.
  bool has_room(std::size_t bytes) const { return kept_bytes_ < most_kept_ + (bytes > kSmall ? 0 : kForSmall); }
  /// Numbers a message or leave, and keeps it.
  void put(LinkKind kind, std::span<const std::byte> bytes);

  /// The next message that this connection has not been given, with its header; empty where there is none.
  std::span<const std::byte> next();
  /// Whether the other end has received all that was put.
  bool is_settled() const { return kept_.empty(); }

  /// The other end has received so many. Throws AggregationAborted where that cannot be: more than were given to a
  /// connection, or less than it has said before.
  void take_received(std::uint64_t received);
  /// A new connection, at whose beginning the other end says that. Throws as take_received.
  void begin_connection(std::uint64_t received);

  /// A message of that number has come. Throws AggregationAborted where it is not the next one.
  void take_number(std::uint64_t number);
  std::uint64_t received() const { return received_; }

 private:
  std::size_t most_kept_;
  std::deque<std::vector<std::byte>> kept_;  // the first has number settled_ + 1
  std::size_t kept_bytes_ = 0;
  std::size_t given_ = 0;         // of kept_, to this connection
  std::uint64_t settled_ = 0;     // which the other end has received
  std::uint64_t put_ = 0;         // numbers so far
  std::uint64_t most_given_ = 0;  // the largest number that any connection was given
  std::uint64_t received_ = 0;
};

}  // namespace dpreduce
