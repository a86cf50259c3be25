// The channel between two parties in one run: each direction has its own key, and message numbers that only rise.
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
  /// `secret` is what both parties derive from their keys of the run (key_agreement.hpp).
  Channel(std::span<const std::byte> secret, const RunId& run, std::uint32_t own, std::uint32_t peer);

  std::vector<std::byte> seal(FrameKind kind, std::uint64_t round, std::span<const std::byte> payload);

  /// The next message of the peer. Throws AggregationAborted naming the fault: a replay, a reflection, another order or
  /// length, a foreign key, another round. The channel must not be used after that.
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
