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

// The coordinator's words in a run so far: every public value, in order, as one digest.
//
//     D_0 = 0        D_i = SHA-256("dpreduce told v1", D_(i-1), round, kind, length, bytes)
//
// Silos sign it with their lists before they mask and before they reveal (list_agreement.hpp). So all statistics of a
// sum were computed at the same weights, centers and projections. Without that a coordinator could send all silos but
// one a projection to zero, and the sum would be the statistic of that one.

class Transcript {
 public:
  /// Adds the whole of what all silos receive in that round, however it is cut into messages.
  void add(FrameKind kind, std::uint64_t round, std::span<const std::byte> bytes);

  const PublicKey& digest() const { return digest_; }

 private:
  PublicKey digest_{};
};

}  // namespace dpreduce
