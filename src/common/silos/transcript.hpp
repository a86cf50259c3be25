// What the coordinator has sent in a run so far: every public value, in order, as one digest.
//
//     D_0 = 0        D_i = SHA-256("dpreduce told v1", D_(i-1), round, kind, length, bytes)
//
// Silos sign it with their lists before they mask and before they reveal (list_agreement.hpp). So all statistics of a
// sum were computed at the same weights, centers and projections. Without that a coordinator could send all silos but
// one a projection to zero, and the sum would be the statistic of that one.
#pragma once

#include <cstdint>
#include <span>

#include "common/silos/frame.hpp"

namespace dpreduce {

class Transcript {
 public:
  /// Adds the whole of what all silos receive in that round, however it is cut into messages.
  void add(FrameKind kind, std::uint64_t round, std::span<const std::byte> bytes);

  const PublicKey& digest() const { return digest_; }

 private:
  PublicKey digest_{};
};

}  // namespace dpreduce
