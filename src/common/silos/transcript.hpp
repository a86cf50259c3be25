// What the coordinator has told in a run so far: every public value, in order, as one digest.
//
//     D_0 = 0        D_i = SHA-256("dpreduce told v1", D_(i-1), round, kind, length, bytes)
//
// Silos sign it with their lists before they mask and before they reveal (list_agreement.hpp). So all statistics of a
// sum were computed at the same weights, centers and projections. Without that a coordinator could tell all silos but
// one a projection to zero, and the sum would be that one's.
#pragma once

#include <cstdint>
#include <span>

#include "common/silos/frame.hpp"

namespace dpreduce {

class Transcript {
 public:
  /// What all silos are told in that round: the whole of it, however it is cut into messages.
  void add(FrameKind kind, std::uint64_t round, std::span<const std::byte> bytes);

  const PublicKey& digest() const { return digest_; }

 private:
  PublicKey digest_{};
};

}  // namespace dpreduce
