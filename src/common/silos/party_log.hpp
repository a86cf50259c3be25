// Log of one party: its steps and observations in a run among silos, for its owner alone.
//
//     2026-03-01T12:00:00.123Z phase gram: 1.204 s, 98304 bytes sent, 1180 received
//
// Each line is written at once, so that a party that is killed leaves its log up to then. The log never contains rows,
// sums, keys, or the number of rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/file_descriptor.hpp"
#include "common/silos/wire.hpp"

namespace dpreduce {

class PartyLog {
 public:
  /// Creates no log: lines are discarded.
  PartyLog() = default;
  /// Opens a log that appends lines to the file, which is created for its owner alone (0600) if it does not exist. If
  /// the path is empty, lines are discarded. Throws BadInput with the path and the system's reason, or if the file
  /// exists and is no log.
  explicit PartyLog(const std::string& path);

  /// Writes one line, control characters replaced. The line is lost if the disk is full: a log does not end a run.
  void line(std::string_view text);

  /// Logs that a phase ends now, with the bytes that went over the wire since the phase before.
  void end_phase(std::string_view name, double seconds);

 private:
  friend class LoggedWire;
  std::unique_ptr<FileDescriptor> file_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

/// Wire whose bytes are counted for the log.
class LoggedWire final : public Wire {
 public:
  /// Counts the bytes of `wire` for `log`. Both outlive this object.
  LoggedWire(Wire& wire, PartyLog& log) : wire_(wire), log_(log) {}
  void send(std::uint32_t to, std::vector<std::byte> bytes) override;
  std::optional<Message> receive(WireClock::time_point until) override;
  LineBinding binding(std::uint32_t peer) const override { return wire_.binding(peer); }

 private:
  Wire& wire_;
  PartyLog& log_;
};

}  // namespace dpreduce
