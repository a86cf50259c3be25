// Wire that carries messages between the parties of a run. A message arrives whole; nothing else is promised.
//
// A message may be late, changed, repeated or from another sender: frame.hpp detects that.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.hpp"

namespace dpreduce {

struct LineTerms;  // line.hpp

using WireClock = std::chrono::steady_clock;

inline double seconds_of(WireClock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Value that only the two ends of a line share; zeros on a wire without such a value. Offers and hellos are signed
/// with it, so that none fits another line (handshake.hpp).
using LineBinding = std::array<std::byte, 32>;

struct Message {
  std::uint32_t from = 0;
  std::vector<std::byte> bytes;
  bool is_farewell =
      false;  ///< the party is gone, nothing more will come; `bytes` are then a text with the reason, or empty
};

class Wire {
 public:
  virtual ~Wire() = default;
  /// Hands a message over for delivery. A message to a party that is gone is lost. Throws AggregationAborted if this
  /// end of the wire is broken.
  virtual void send(std::uint32_t to, std::vector<std::byte> bytes) = 0;
  /// Next message from any party; nullopt if none has come by `until`. Throws as send.
  virtual std::optional<Message> receive(WireClock::time_point until) = 0;

  /// Binding of the line to `peer`, for the whole run.
  virtual LineBinding binding(std::uint32_t) const { return {}; }

  /// Sets the time after which send throws AggregationAborted if nothing is taken, on a wire on which sending waits.
  virtual void set_send_timeout(std::chrono::milliseconds) {}

  /// Sends and receives all messages, from here on, over a line with these terms, in either direction. Throws
  /// UsageError if the wire simulates no line.
  virtual void set_line(const LineTerms&) {
    throw UsageError("this network is real, not simulated: leave --round-trip, --bandwidth and --packet-loss out");
  }
};

/// Place of a party in a job that a launcher has started, and its means to find the others.
struct JobPlace {
  int rank = 0;
  int size = 1;
  bool is_on_one_machine = false;  ///< the whole job is
  /// Sends all parties a text, and returns the texts of all by rank; an empty text: that party has ended. Collective;
  /// called kJobExchanges times. Throws PeerFailed if this party's parent is gone.
  std::function<std::vector<std::string>(const std::string& own)> exchange;
};
inline constexpr int kJobExchanges = 2;
inline constexpr std::size_t kLongestJobText = 1023;  ///< bytes, without zeros

}  // namespace dpreduce
