// The line between a silo and the coordinator, in simulations: how long what goes over it takes.
//
//     rate      = min(bandwidth, sqrt(3/2) MSS / (T sqrt(p)))                  bytes a second
//     leaves_i  = max(comes_i, leaves_{i-1}) + length_i / rate                 one message after the other
//     arrives_i = leaves_i + T / 2
//
// T is the round trip, p the share of packets that get lost, MSS = 1460 bytes what a packet holds. The second term is
// what TCP makes of a line that loses packets ([mathis1997], equation 3): no message is lost or arrives out of order,
// but each takes longer.
#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <optional>

#include "common/silos/wire.hpp"

namespace dpreduce {

struct LineTerms {
  double round_trip = 0.0;                                     ///< T, seconds
  double bandwidth = std::numeric_limits<double>::infinity();  ///< bytes a second
  double loss = 0.0;                                           ///< p, in [0, 1)
};

/// The rate above; the bandwidth where p or T is 0.
double bytes_per_second(const LineTerms& terms);

/// One direction of a line: messages leave it in the order in which they were put in, none before it has arrived.
class Line {
 public:
  /// No line: a message has arrived as soon as it is put in.
  Line() = default;

  /// Sets the terms for what is put in from here on. Precondition (asserted): T >= 0, rate > 0.
  void set(const LineTerms& terms);
  void put(Message message, WireClock::time_point now);
  /// The first message if it has arrived by `now`; else nothing.
  std::optional<Message> take(WireClock::time_point now);

  /// Ends all waiting: what is on the line has arrived now, and so has whatever is put in from here on.
  void cut_short();

  bool empty() const { return messages_.empty(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct OnItsWay {
    Message message;
    WireClock::time_point arrives;
  };

  double rate_ = std::numeric_limits<double>::infinity();
  WireClock::duration one_way_{0};
  WireClock::time_point free_at_ = WireClock::time_point::min();  // when the last message has left
  std::deque<OnItsWay> messages_;
  std::size_t bytes_ = 0;
};

}  // namespace dpreduce
