// Simulated line between a silo and the coordinator: the time that each message takes.
//
//     rate      = min(bandwidth, sqrt(3/2) MSS / (T sqrt(p)))                  bytes a second
//     leaves_i  = max(comes_i, leaves_{i-1}) + length_i / rate                 one message after the other
//     arrives_i = leaves_i + T / 2
//
// T is the round trip, p the share of packets that get lost, MSS = 1460 bytes the payload of a packet. The second term
// is the rate of TCP on a line that loses packets ([mathis1997], equation 3): no message is lost or arrives out of
// order, but each takes longer.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "common/silos/wire.hpp"

namespace dpreduce {

struct LineTerms {
  double round_trip = 0.0;                                     ///< T, seconds
  double bandwidth = std::numeric_limits<double>::infinity();  ///< bytes a second
  double loss = 0.0;                                           ///< p, in [0, 1)
};

/// Rate by the equation above; the bandwidth if p or T is 0.
double bytes_per_second(const LineTerms& terms);

/// One direction of a line: messages leave it in the order in which they were put in, none before it has arrived.
class Line {
 public:
  /// Line without delay: a message has arrived as soon as it is put in.
  Line() = default;

  /// Sets the terms for messages that are put in from here on. Precondition (asserted): T >= 0, rate > 0.
  void set(const LineTerms& terms);
  void put(Message message, WireClock::time_point now);
  /// Returns the first message if it has arrived by `now`; else nullopt.
  std::optional<Message> take(WireClock::time_point now);

  /// Ends all waiting: messages on the line have arrived now, and later ones arrive as soon as they are put in.
  void cut_short();

  bool empty() const { return messages_.empty(); }
  /// Arrival time of the first message. Precondition: not empty.
  WireClock::time_point next_arrival() const { return messages_.front().arrives; }

 private:
  struct OnItsWay {
    Message message;
    WireClock::time_point arrives;
  };

  double rate_ = std::numeric_limits<double>::infinity();
  WireClock::duration one_way_{0};
  WireClock::time_point free_at_ = WireClock::time_point::min();  // when the last message has left
  std::deque<OnItsWay> messages_;
};

/// Wire of a party whose line is simulated. From set_line on, each message that the party sends or receives takes the
/// time of the line, and so does the news that a party is gone. Only the news that the coordinator has ended takes no
/// time: nothing is decided after it.
class LineWire final : public Wire {
 public:
  /// `wire` outlives it.
  explicit LineWire(Wire& wire) : wire_(wire) {}
  ~LineWire() override;  ///< returns when all sent messages have left the line
  LineWire(const LineWire&) = delete;
  LineWire& operator=(const LineWire&) = delete;

  void send(std::uint32_t to, std::vector<std::byte> bytes) override;
  std::optional<Message> receive(WireClock::time_point until) override;
  LineBinding binding(std::uint32_t peer) const override { return wire_.binding(peer); }
  void set_send_timeout(std::chrono::milliseconds timeout) override { wire_.set_send_timeout(timeout); }
  /// Precondition: called once.
  void set_line(const LineTerms& terms) override;

 private:
  void take_what_comes();
  void send_what_is_due();
  void fail();

  Wire& wire_;
  std::mutex lock_;  // of all members below
  std::condition_variable changed_;
  Line coming_;
  Line going_;  // `from` holds the receiver
  bool has_ended_ = false;
  std::exception_ptr fault_;
  std::thread taking_;  // not started without a line, and neither is sending_
  std::thread sending_;
};

}  // namespace dpreduce
