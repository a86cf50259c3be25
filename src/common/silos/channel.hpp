// The channel of a pair of parties in one run: keys of its own for each direction, and numbers that only rise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/silos/frame.hpp"

namespace dpreduce {

struct OpenedMessage {
  FrameKind kind = FrameKind::kOffer;
  std::vector<std::byte> payload;
};

class Channel {
 public:
  /// `secret` is what the keys of the run of both parties agree on.
  Channel(std::span<const std::byte> secret, const RunId& run, std::uint32_t own, std::uint32_t peer);

  std::vector<std::byte> seal(FrameKind kind, std::uint64_t round, std::span<const std::byte> payload);

  /// The next message of the peer. @throws AggregationAborted naming the fault: a replay, a reflection, another order
  /// or length, a foreign key, another round. The channel is then of no more use.
  OpenedMessage open(std::uint64_t round, std::span<const std::byte> frame);

 private:
  RunId run_;
  std::uint32_t own_;
  std::uint32_t peer_;
  SealingKey sending_;
  SealingKey receiving_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace dpreduce
