#include "common/silos/frame.hpp"

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/silos/payload.hpp"

namespace dpreduce {
namespace {

constexpr std::string_view kMagic = "dpF1";

std::vector<std::byte> associated_data(std::span<const std::byte> header, const RunId& run) {
  return PayloadWriter().bytes(header).bytes(run).take();
}

SealingKey key_of(std::span<const std::byte> secret, const RunId& run, std::uint32_t from, std::uint32_t to) {
  return SealingKey(derive_key(secret, {run, 0, 0, "channel", from, to}));
}

[[noreturn]] void refuse(std::uint32_t sender, const std::string& fault) {
  throw AggregationAborted("a message from {} was refused: {}",
                           sender == 0 ? "the coordinator" : fmt::format("silo {}", sender), fault);
}

// The fault of a frame's claim; empty if the claim is right.
std::string claim_fault(const FrameHeader& claimed, const FrameHeader& expected) {
  if (claimed.sender == expected.receiver && claimed.receiver == expected.sender) {
    return "a reflection: it was sent in the other direction";
  }
  if (claimed.sender != expected.sender) {
    return fmt::format("its header names party {} as its sender", claimed.sender);
  }
  if (claimed.receiver != expected.receiver) return fmt::format("it was sent to party {}", claimed.receiver);
  if (claimed.sequence != expected.sequence) {
    return fmt::format("{}: number {}, but {} is expected",
                       claimed.sequence < expected.sequence ? "a replay" : "out of order", claimed.sequence,
                       expected.sequence);
  }
  if (claimed.round != expected.round) {
    return fmt::format("{}of round {}, but the current round is {}", claimed.round < expected.round ? "stale: " : "",
                       claimed.round, expected.round);
  }
  return {};
}

}  // namespace

std::vector<std::byte> bytes_of(const FrameHeader& header) {
  PayloadWriter writer;
  writer.text(kMagic).number(static_cast<std::uint64_t>(header.kind), 1).u32(header.sender).u32(header.receiver);
  return writer.u64(header.round).u64(header.sequence).take();
}

std::optional<FrameHeader> claimed_header(std::span<const std::byte> frame) {
  if (frame.size() < kHeaderBytes + kTagBytes || frame.size() > kLargestFrame) return std::nullopt;
  PayloadReader reader(frame);
  if (text_in(reader.bytes(kMagic.size())) != kMagic) return std::nullopt;
  FrameHeader header{
      .kind = static_cast<FrameKind>(reader.number(1)), .sender = reader.u32(), .receiver = reader.u32()};
  header.round = reader.u64();
  header.sequence = reader.u64();
  return to_string(header.kind) == "unknown" ? std::nullopt : std::optional(header);
}

Channel::Channel(std::span<const std::byte> secret, const RunId& run, std::uint32_t own, std::uint32_t peer)
    : run_(run),
      own_(own),
      peer_(peer),
      sending_(key_of(secret, run, own, peer)),
      receiving_(key_of(secret, run, peer, own)) {}

std::vector<std::byte> Channel::seal(FrameKind kind, std::uint64_t round, std::span<const std::byte> payload) {
  DPREDUCE_ASSERT(payload.size() <= kLargestPayload);
  const std::uint64_t sequence = sent_++;
  std::vector<std::byte> frame = bytes_of({kind, own_, peer_, round, sequence});
  const std::vector<std::byte> associated = associated_data(frame, run_);
  frame.resize(kHeaderBytes + payload.size() + kTagBytes);
  sending_.seal(sequence, associated, payload, std::span(frame).subspan(kHeaderBytes));
  return frame;
}

OpenedMessage Channel::open(std::uint64_t round, std::span<const std::byte> frame) {
  const std::optional<FrameHeader> claimed = claimed_header(frame);
  if (!claimed)
    refuse(peer_, fmt::format("{} bytes that are not a frame: truncated, or of another version", frame.size()));
  const std::string fault = claim_fault(*claimed, {claimed->kind, peer_, own_, round, received_});
  if (!fault.empty()) refuse(peer_, fault);
  std::vector<std::byte> payload(frame.size() - kHeaderBytes - kTagBytes);
  if (!receiving_.open(received_, associated_data(frame.first(kHeaderBytes), run_), frame.subspan(kHeaderBytes),
                       payload)) {
    refuse(peer_,
           fmt::format("\"{}\" fails its authentication: changed or cut on the way, or sealed with a foreign key",
                       to_string(claimed->kind)));
  }
  ++received_;
  return {claimed->kind, std::move(payload)};
}

void Transcript::add(FrameKind kind, std::uint64_t round, std::span<const std::byte> bytes) {
  PayloadWriter writer;
  writer.text("dpreduce told v1").bytes(digest_).u64(round).u32(static_cast<std::uint32_t>(kind));
  digest_ = sha256(writer.u64(bytes.size()).bytes(bytes).take());
}

}  // namespace dpreduce
