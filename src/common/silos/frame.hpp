// Message on the wire: a header with the message's claims, and a sealed payload that proves them.
//
//     0  "dpF1"        4   magic
//     4  kind          1   FrameKind
//     5  sender        4   party: 0 the coordinator, i silo i
//     9  receiver      4
//    13  round         8   of the run: one collective operation
//    21  sequence      8   of this direction, from 0, without gaps
//    29  payload       n   AES-256-GCM, n <= kLargestPayload
//   29+n tag          16   over payload, header and run
//
// Numbers are little-endian. Key and nonce belong to one direction of one pair of parties in one run (below). A frame
// is opened only if its header is exactly the expected one (but for the kind) and its tag fits. No payload is read
// before that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/silos/key_agreement.hpp"

namespace dpreduce {

enum class FrameKind : std::uint8_t {
  kOffer = 1,  ///< coordinator: run, its key of the run, signed; not sealed
  kHello,      ///< silo: its key of the run, signed; not sealed
  kMembers,    ///< coordinator: everyone's hello
  kStatus,     ///< silo: outcome of a phase of its own work
  kVerdict,    ///< coordinator: outcome for all
  kNumber,     ///< silo: a public number; coordinator: the largest of all
  kBroadcast,  ///< coordinator: public bytes
  kBegin,      ///< coordinator: an attempt at a sum
  kAdvertise,  ///< silo: its mask key of this attempt, signed
  kKeys,       ///< coordinator: the neighbors' mask keys
  kShares,     ///< silo: shares of its two secrets, sealed for each holder
  kDelivery,   ///< coordinator: shares for this holder, and the list of silos that have shared
  kMasked,     ///< silo: a piece of its masked statistic
  kUnmask,     ///< coordinator: list of silos whose masked statistics are complete
  kReveal,     ///< silo: one share of one secret of each silo whose shares it holds
  kDone,       ///< coordinator: the sum is computed
  kDropped,    ///< coordinator: the run goes on without this silo, and why
  kConsent,    ///< silo: its signature on the lists that it has received
  kQuorum,     ///< coordinator: the signatures of at least t silos on these lists
  kPlan,       ///< silo: digest of its own noise plan, signed; coordinator: digests of all
  kRefusal     ///< silo: it takes no part, by terms of its own that it does not disclose
};

template <>
inline constexpr auto spellings<FrameKind> = std::to_array<std::pair<std::string_view, FrameKind>>(
    {{"offer", FrameKind::kOffer},         {"hello", FrameKind::kHello},     {"members", FrameKind::kMembers},
     {"status", FrameKind::kStatus},       {"verdict", FrameKind::kVerdict}, {"number", FrameKind::kNumber},
     {"broadcast", FrameKind::kBroadcast}, {"begin", FrameKind::kBegin},     {"advertise", FrameKind::kAdvertise},
     {"keys", FrameKind::kKeys},           {"shares", FrameKind::kShares},   {"delivery", FrameKind::kDelivery},
     {"masked", FrameKind::kMasked},       {"unmask", FrameKind::kUnmask},   {"reveal", FrameKind::kReveal},
     {"done", FrameKind::kDone},           {"dropped", FrameKind::kDropped}, {"consent", FrameKind::kConsent},
     {"quorum", FrameKind::kQuorum},       {"plan", FrameKind::kPlan},       {"refusal", FrameKind::kRefusal}});

struct FrameHeader {
  FrameKind kind = FrameKind::kOffer;
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  std::uint64_t round = 0;
  std::uint64_t sequence = 0;

  bool operator==(const FrameHeader&) const = default;
};

inline constexpr std::size_t kHeaderBytes = 29;
inline constexpr std::size_t kLargestPayload = (std::size_t{1} << 20) + 64;
inline constexpr std::size_t kLargestFrame = kHeaderBytes + kLargestPayload + kTagBytes;

std::vector<std::byte> bytes_of(const FrameHeader& header);

/// Header that the bytes claim; nullopt if they are too short, too long or no frame of this version.
std::optional<FrameHeader> claimed_header(std::span<const std::byte> frame);

// Channel between two parties in one run: each direction has its own key, and message numbers that only rise.

struct OpenedMessage {
  FrameKind kind = FrameKind::kOffer;
  std::vector<std::byte> payload;
};

class Channel {
 public:
  /// Derives the keys of both directions from `secret`, which both parties compute from their keys of the run
  /// (key_agreement.hpp).
  Channel(std::span<const std::byte> secret, const RunId& run, std::uint32_t own, std::uint32_t peer);

  /// Frame of the next message: header and payload, sealed. Precondition (asserted): |payload| <= kLargestPayload.
  std::vector<std::byte> seal(FrameKind kind, std::uint64_t round, std::span<const std::byte> payload);

  /// Opens the next message of the peer, of any kind. Throws AggregationAborted naming sender, claim and fault: a
  /// replay, a reflection, another order or length, a foreign key, another round. The channel must not be used after
  /// that.
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

// Transcript of a run: one digest of every public value that the coordinator has sent so far, in order.
//
//     D_0 = 0        D_i = SHA-256("dpreduce told v1", D_(i-1), round, kind, length, bytes)
//
// Silos sign the digest with their lists before they mask and before they reveal (masked_sum.hpp). So all statistics of
// a sum were computed at the same weights, centers and projections. Without the digest a coordinator could send all
// silos but one a projection to zero, and the sum would be the statistic of that one silo.

class Transcript {
 public:
  /// Adds all the bytes that every silo receives in that round, however they are cut into messages.
  void add(FrameKind kind, std::uint64_t round, std::span<const std::byte> bytes);

  const PublicKey& digest() const { return digest_; }

 private:
  PublicKey digest_{};
};

}  // namespace dpreduce
