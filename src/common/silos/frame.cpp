#include "common/silos/frame.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::array<std::byte, 4> kMagic{std::byte{'d'}, std::byte{'p'}, std::byte{'F'}, std::byte{'1'}};
using HeaderBytes = std::array<std::byte, kHeaderBytes>;

void put(std::span<std::byte> bytes, std::uint64_t number) {
  for (std::size_t place = 0; place < bytes.size(); ++place)
    bytes[place] = static_cast<std::byte>(number >> (8 * place));
}

std::uint64_t number_in(std::span<const std::byte> bytes) {
  std::uint64_t number = 0;
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    number |= std::to_integer<std::uint64_t>(bytes[place]) << (8 * place);
  }
  return number;
}

HeaderBytes bytes_of(const FrameHeader& header) {
  HeaderBytes bytes{};
  const std::span<std::byte> all(bytes);
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  put(all.subspan(4, 1), static_cast<std::uint64_t>(header.kind));
  put(all.subspan(5, 4), header.sender);
  put(all.subspan(9, 4), header.receiver);
  put(all.subspan(13, 8), header.round);
  put(all.subspan(21, 8), header.sequence);
  return bytes;
}

std::array<std::byte, kHeaderBytes + sizeof(RunId)> associated_data(std::span<const std::byte> header,
                                                                    const RunId& run) {
  std::array<std::byte, kHeaderBytes + sizeof(RunId)> data{};
  std::copy(header.begin(), header.end(), data.begin());
  std::copy(run.begin(), run.end(), data.begin() + kHeaderBytes);
  return data;
}

[[noreturn]] void refuse(const FrameHeader& expected, const std::string& fault) {
  throw AggregationAborted(
      fmt::format("a message from {} was refused: {}",
                  expected.sender == 0 ? "the coordinator" : fmt::format("silo {}", expected.sender), fault));
}

}  // namespace

std::optional<FrameHeader> claimed_header(std::span<const std::byte> frame) {
  if (frame.size() < kHeaderBytes + kTagBytes || frame.size() > kLargestFrame) return std::nullopt;
  if (!std::equal(kMagic.begin(), kMagic.end(), frame.begin())) return std::nullopt;
  const auto kind = static_cast<FrameKind>(frame[4]);
  if (to_string(kind) == "unknown") return std::nullopt;
  return FrameHeader{kind, static_cast<std::uint32_t>(number_in(frame.subspan(5, 4))),
                     static_cast<std::uint32_t>(number_in(frame.subspan(9, 4))), number_in(frame.subspan(13, 8)),
                     number_in(frame.subspan(21, 8))};
}

std::vector<std::byte> seal_frame(const SealingKey& key, const RunId& run, const FrameHeader& header,
                                  std::span<const std::byte> payload) {
  DPREDUCE_ASSERT(payload.size() <= kLargestPayload);
  const HeaderBytes bytes = bytes_of(header);
  std::vector<std::byte> frame(kHeaderBytes + payload.size() + kTagBytes);
  std::copy(bytes.begin(), bytes.end(), frame.begin());
  key.seal(header.sequence, associated_data(bytes, run), payload, std::span(frame).subspan(kHeaderBytes));
  return frame;
}

std::string claim_fault(const FrameHeader& claimed, const FrameHeader& expected) {
  if (claimed.sender == expected.receiver && claimed.receiver == expected.sender) {
    return "a reflection: it was sent in the other direction";
  }
  if (claimed.sender != expected.sender) {
    return fmt::format("its header names party {} as its sender", claimed.sender);
  }
  if (claimed.receiver != expected.receiver) return fmt::format("it was sent to party {}", claimed.receiver);
  if (claimed.sequence < expected.sequence) {
    return fmt::format("a replay: number {} where {} comes next", claimed.sequence, expected.sequence);
  }
  if (claimed.sequence > expected.sequence) {
    return fmt::format("out of order: number {} where {} comes next", claimed.sequence, expected.sequence);
  }
  if (claimed.round < expected.round) {
    return fmt::format("stale: of round {} where round {} is on", claimed.round, expected.round);
  }
  if (claimed.round > expected.round) {
    return fmt::format("of round {}, where round {} is on", claimed.round, expected.round);
  }
  return {};
}

std::vector<std::byte> open_frame(const SealingKey& key, const RunId& run, FrameHeader& expected,
                                  std::span<const std::byte> frame) {
  const std::optional<FrameHeader> claimed = claimed_header(frame);
  if (!claimed)
    refuse(expected, fmt::format("{} bytes that are no frame: truncated, or of another version", frame.size()));
  const std::string fault = claim_fault(*claimed, expected);
  if (!fault.empty()) refuse(expected, fault);
  std::vector<std::byte> payload(frame.size() - kHeaderBytes - kTagBytes);
  if (!key.open(claimed->sequence, associated_data(frame.first(kHeaderBytes), run), frame.subspan(kHeaderBytes),
                payload)) {
    refuse(expected, fmt::format("\"{}\" fails its authentication: changed or cut on the way, or sealed with a foreign "
                                 "key",
                                 to_string(claimed->kind)));
  }
  expected.kind = claimed->kind;
  return payload;
}

}  // namespace dpreduce
