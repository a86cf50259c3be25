#include "common/silos/channel.hpp"

#include <string_view>
#include <vector>

#include "common/silos/payload.hpp"

namespace dpreduce {
namespace {

SealingKey key_of(std::span<const std::byte> secret, const RunId& run, std::uint32_t from, std::uint32_t to) {
  return SealingKey(derive_key(secret, {run, 0, 0, "channel", from, to}));
}

}  // namespace

Channel::Channel(std::span<const std::byte> secret, const RunId& run, std::uint32_t own, std::uint32_t peer)
    : run_(run),
      own_(own),
      peer_(peer),
      sending_(key_of(secret, run, own, peer)),
      receiving_(key_of(secret, run, peer, own)) {}

std::vector<std::byte> Channel::seal(FrameKind kind, std::uint64_t round, std::span<const std::byte> payload) {
  return seal_frame(sending_, run_, {kind, own_, peer_, round, sent_++}, payload);
}

OpenedMessage Channel::open(std::uint64_t round, std::span<const std::byte> frame) {
  FrameHeader expected{FrameKind::kOffer, peer_, own_, round, received_};
  std::vector<std::byte> payload = open_frame(receiving_, run_, expected, frame);
  ++received_;
  return {expected.kind, std::move(payload)};
}

void Transcript::add(FrameKind kind, std::uint64_t round, std::span<const std::byte> bytes) {
  constexpr std::string_view kDomain = "dpreduce told v1";
  PayloadWriter writer;
  writer.text(kDomain).bytes(digest_).u64(round).u32(static_cast<std::uint32_t>(kind));
  digest_ = sha256(writer.u64(bytes.size()).bytes(bytes).take());
}

}  // namespace dpreduce
