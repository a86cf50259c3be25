// The wire of a process that has a relay (relay.hpp): a socket between the two.
//
//     party (4 bytes), length (4), flags (4: 1 for a farewell, 2 for the terms of a line), then the message, of at most
//     kLargestFrame bytes; in the machine's own byte order
//
// The relay is this process's own parent, and trusted with what goes through it: sealed frames.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "common/silos/line.hpp"
#include "common/silos/wire.hpp"

namespace dpreduce {

struct EnvelopeHeader {
  std::uint32_t party = 0;  ///< toward the relay: the receiver; from the relay: the sender
  std::uint32_t length = 0;
  std::uint32_t flags = 0;
};
inline constexpr std::uint32_t kFarewellFlag = 1;
inline constexpr std::uint32_t kLineFlag = 2;  ///< for the relay itself: the message is LineTerms

class SocketWire final : public Wire {
 public:
  /// Takes over an open, connected stream socket.
  explicit SocketWire(int socket) : socket_(socket) {}
  SocketWire(const SocketWire&) = delete;
  SocketWire& operator=(const SocketWire&) = delete;
  ~SocketWire() override;

  void send(std::uint32_t to, std::vector<std::byte> bytes) override;
  std::optional<Message> receive(WireClock::time_point until) override;

  /// Where the relay takes nothing for so long, messages wait for a party that takes none.
  void set_send_timeout(std::chrono::milliseconds timeout) override;
  /// The line begins at the relay, so that only the receiver of a message waits for it.
  void set_line(const LineTerms& terms) override;

 private:
  bool read_some(WireClock::time_point until);
  std::optional<Message> whole_message();

  int socket_;
  std::vector<std::byte> come_;  // received; the end of the last message may still be missing
};

}  // namespace dpreduce
