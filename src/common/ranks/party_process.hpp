// The party of a relay (relay.hpp) as the relay sees it: a child process, and the socket between the two.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include <sys/types.h>

#include "common/ranks/socket_wire.hpp"

namespace dpreduce {

class PartyProcess {
 public:
  /// Takes over the relay's end of the socket, and a child of this process. `socket` closes with this process.
  PartyProcess(int socket, pid_t process) : socket_(socket), process_(process) {}

  /// Until it has exited and all that it had sent before is read.
  bool is_there() const { return is_there_; }
  /// Returns true once, when the process has exited; what it has sent may still wait to be read.
  bool notice_exit();
  /// Returns true once, when it has exited and nothing of it is left to read. What waits for it is dropped.
  bool notice_end();
  /// The exit code of the process that has exited; 5 where it was killed.
  int exit_code() const { return exit_code_; }
  /// The signal that killed it, or 0.
  int signal() const { return signal_; }
  void kill();

  /// Puts a message behind what waits to be written. Does nothing when the party has ended.
  void queue(const EnvelopeHeader& header, std::vector<std::byte> body = {});
  std::size_t queued_bytes() const { return queued_bytes_; }
  /// Writes what the socket takes without waiting. Returns whether it took something.
  bool write();

  /// Shows `take` each message that is whole. Returns whether something came, the end of the socket included.
  bool read(const std::function<void(const EnvelopeHeader&, std::span<const std::byte>)>& take);
  bool can_read() const { return !is_socket_closed_; }

  /// Waits at most so long, less where the socket takes what is queued, or something can be read and `reads`.
  void wait_for(std::chrono::microseconds time, bool reads) const;

 private:
  int socket_;
  pid_t process_;
  bool is_there_ = true;
  bool has_exited_ = false;
  bool is_socket_closed_ = false;
  int exit_code_ = 0;
  int signal_ = 0;
  std::vector<std::byte> come_;  // bytes that are not yet whole messages
  std::deque<std::vector<std::byte>> queue_;
  std::size_t queued_bytes_ = 0;
  std::size_t written_ = 0;  // bytes of the first of the queue
};

}  // namespace dpreduce
