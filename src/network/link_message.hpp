// What the two ends of a line send each other inside TLS.
//
//     kind (1), length (4), then that many bytes; numbers are little-endian
//
//     greeting  silo -> coordinator, first of all   "dpN2", nonce of its process (32), how many messages have come (8),
//                                                   which of its connections this is (8)
//     welcome   coordinator -> silo, the answer     the same of the coordinator, with the silo's connection that binds
//     refusal   coordinator -> silo, the answer     why not, at most kLongestReason bytes; the line ends
//     not yet   coordinator -> silo, the answer     the same, for as long as an older line of this identity is open
//     message   either                              its number (8), a sealed frame
//     leave     either, the last                    its number (8), why, at most kLongestReason bytes
//     received  either, whenever something came     how many messages have come (8); also a sign of life
//
// A length is looked at before there is memory for it, and so is whether that kind is due.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/silos/frame.hpp"

namespace dpreduce {

enum class LinkKind : std::uint8_t { kGreeting = 1, kWelcome, kRefusal, kMessage, kLeave, kReceived, kNotYet };

/// Drawn by a process when it starts, and never written to a disk: a process that was started again has another.
using ProcessNonce = std::array<std::byte, 32>;

inline constexpr std::size_t kLongestReason = 300;
inline constexpr std::size_t kLinkHeader = 5;

struct Greeting {
  ProcessNonce process{};
  std::uint64_t received = 0;
  std::uint64_t connection = 0;  ///< of the silo's process, counted from 1
};

std::vector<std::byte> greeting_message(LinkKind kind, const Greeting& greeting);
/// A refusal, or "not yet".
std::vector<std::byte> refusal_message(std::string_view reason, LinkKind kind = LinkKind::kRefusal);
std::vector<std::byte> received_message(std::uint64_t received);
/// A message or leave with that number.
std::vector<std::byte> numbered_message(LinkKind kind, std::uint64_t number, std::span<const std::byte> bytes);

/// Text of another party, fit to be shown: printable ASCII, at most kLongestReason of it.
std::string shown_reason(std::span<const std::byte> text);

struct LinkMessage {
  LinkKind kind = LinkKind::kReceived;
  Greeting greeting;         ///< of greeting and welcome
  std::uint64_t number = 0;  ///< of message, leave and received
  std::vector<std::byte> bytes;
};

/// Cuts what comes into messages. It keeps at most one that is not whole, of the length that its kind may have.
class LinkReader {
 public:
  /// The kind that the first message must be; none: any but those that come first.
  explicit LinkReader(LinkKind first) : first_(first) {}

  void add(std::span<const std::byte> bytes);
  /// The next message that is whole. Throws AggregationAborted where what has come is none: of no known kind, of a
  /// kind that is not due, longer or shorter than that kind is.
  std::optional<LinkMessage> next();

 private:
  LinkKind first_;
  bool has_begun_ = false;
  std::vector<std::byte> come_;
  std::size_t used_ = 0;  // of come_
};

}  // namespace dpreduce
