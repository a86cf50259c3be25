// One message on the wire: a header that says what it claims to be, and a sealed payload that proves it.
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
// Numbers are little-endian. Key and nonce belong to one direction of one pair of parties in one run (channel.hpp). A
// frame is opened only where its header is exactly the one expected and its tag fits. No payload is read before that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/silos/key_agreement.hpp"
#include "common/silos/sealed_box.hpp"

namespace dpreduce {

enum class FrameKind : std::uint8_t {
  kOffer = 1,  ///< coordinator: run, its key of the run, signed; not sealed
  kHello,      ///< silo: its key of the run, signed; not sealed
  kMembers,    ///< coordinator: everyone's hello
  kStatus,     ///< silo: how a phase of its own work ended
  kVerdict,    ///< coordinator: how it ended for all
  kNumber,     ///< silo: a public number; coordinator: the largest of all
  kBroadcast,  ///< coordinator: public bytes
  kBegin,      ///< coordinator: an attempt at a sum
  kAdvertise,  ///< silo: its mask key of this attempt, signed
  kKeys,       ///< coordinator: the neighbors' mask keys
  kShares,     ///< silo: shares of its two secrets, sealed for each holder
  kDelivery,   ///< coordinator: shares for this holder, and who has given any
  kMasked,     ///< silo: a piece of its masked statistic
  kUnmask,     ///< coordinator: whose masked statistics are all there
  kReveal,     ///< silo: one share of one secret of each whose shares it holds
  kDone,       ///< coordinator: the sum is made
  kDropped,    ///< coordinator: the run goes on without this silo, and why
  kConsent,    ///< silo: its signature on the lists that it has received
  kQuorum,     ///< coordinator: the signatures of at least t silos on them
  kPlan,       ///< silo: the digest of its own noise plan, signed; coordinator: those of all
  kRefusal     ///< silo: it takes no part, by terms of its own that it tells nobody
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

/// The header that the bytes claim; nothing where they are too short, too long or no frame of this version.
std::optional<FrameHeader> claimed_header(std::span<const std::byte> frame);

/// Header and payload, sealed. Precondition (asserted): |payload| <= kLargestPayload.
std::vector<std::byte> seal_frame(const SealingKey& key, const RunId& run, const FrameHeader& header,
                                  std::span<const std::byte> payload);

/// What is wrong with a frame's claim: "truncated", "a replay or out of order", ...; empty where nothing is.
std::string claim_fault(const FrameHeader& claimed, const FrameHeader& expected);

/// The payload of a frame from `expected.sender` with exactly the expected round and sequence, of any kind, which is
/// set. Throws AggregationAborted naming sender, claim and fault.
std::vector<std::byte> open_frame(const SealingKey& key, const RunId& run, FrameHeader& expected,
                                  std::span<const std::byte> frame);

}  // namespace dpreduce
