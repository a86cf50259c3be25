#include "network/link_message.hpp"

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/silos/payload.hpp"

namespace dpreduce {
namespace {

constexpr std::string_view kLinkMagic = "dpN2";
constexpr std::size_t kNumberBytes = 8;
constexpr std::size_t kGreetingBytes = kLinkMagic.size() + sizeof(ProcessNonce) + 2 * kNumberBytes;

// How long the part behind the header is.
struct Lengths {
  std::size_t least;
  std::size_t most;
};

Lengths lengths_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::kGreeting:
    case LinkKind::kWelcome:
      return {kGreetingBytes, kGreetingBytes};
    case LinkKind::kRefusal:
    case LinkKind::kNotYet:
      return {0, kLongestReason};
    case LinkKind::kMessage:
      return {kNumberBytes, kNumberBytes + kLargestFrame};
    case LinkKind::kLeave:
      return {kNumberBytes, kNumberBytes + kLongestReason};
    case LinkKind::kReceived:
      return {kNumberBytes, kNumberBytes};
  }
  throw AggregationAborted(fmt::format("a message of unknown kind {}", static_cast<int>(kind)));
}

std::vector<std::byte> with_header(LinkKind kind, std::span<const std::byte> body) {
  PayloadWriter writer;
  writer.number(static_cast<std::uint64_t>(kind), 1).u32(static_cast<std::uint32_t>(body.size()));
  return writer.bytes(body).take();
}

bool refuses(LinkKind kind) {
  return kind == LinkKind::kRefusal || kind == LinkKind::kNotYet;
}

bool comes_first(LinkKind kind) {
  return kind == LinkKind::kGreeting || kind == LinkKind::kWelcome || refuses(kind);
}

LinkMessage parsed(LinkKind kind, std::span<const std::byte> body) {
  PayloadReader reader(body);
  LinkMessage message{.kind = kind, .greeting = {}, .number = 0, .bytes = {}};
  if (kind == LinkKind::kGreeting || kind == LinkKind::kWelcome) {
    if (text_in(reader.bytes(kLinkMagic.size())) != kLinkMagic) {
      throw AggregationAborted("a greeting of another protocol; start the same version at all parties");
    }
    message.greeting.process = reader.array<sizeof(ProcessNonce)>();
    message.greeting.received = reader.u64();
    message.greeting.connection = reader.u64();
  } else if (!refuses(kind)) {
    message.number = reader.u64();
  }
  const auto rest = reader.rest();
  message.bytes.assign(rest.begin(), rest.end());
  return message;
}

}  // namespace

std::vector<std::byte> greeting_message(LinkKind kind, const Greeting& greeting) {
  PayloadWriter writer;
  writer.text(kLinkMagic).bytes(greeting.process).u64(greeting.received).u64(greeting.connection);
  return with_header(kind, writer.take());
}

std::vector<std::byte> refusal_message(std::string_view reason, LinkKind kind) {
  return with_header(kind, bytes_in(reason.substr(0, kLongestReason)));
}

std::vector<std::byte> received_message(std::uint64_t received) {
  return with_header(LinkKind::kReceived, PayloadWriter().u64(received).take());
}

std::vector<std::byte> numbered_message(LinkKind kind, std::uint64_t number, std::span<const std::byte> bytes) {
  PayloadWriter writer;
  writer.number(static_cast<std::uint64_t>(kind), 1);
  writer.u32(static_cast<std::uint32_t>(kNumberBytes + bytes.size())).u64(number);
  return writer.bytes(bytes).take();
}

std::string shown_reason(std::span<const std::byte> text) {
  return shown_text(text_in(text), kLongestReason);
}

void LinkReader::add(std::span<const std::byte> bytes) {
  come_.erase(come_.begin(), come_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ = 0;
  come_.insert(come_.end(), bytes.begin(), bytes.end());
}

std::optional<LinkMessage> LinkReader::next() {
  const std::span<const std::byte> come = std::span(come_).subspan(used_);
  if (come.size() < kLinkHeader) return std::nullopt;
  PayloadReader header(come.first(kLinkHeader));
  const auto kind = static_cast<LinkKind>(header.number(1));
  const std::size_t length = header.u32();
  const Lengths lengths = lengths_of(kind);
  const bool is_refusal = first_ == LinkKind::kWelcome && refuses(kind);
  const bool is_due = has_begun_ ? !comes_first(kind) : kind == first_ || is_refusal;
  if (!is_due) throw AggregationAborted(fmt::format("a message of kind {} that is not due", static_cast<int>(kind)));
  if (length < lengths.least || length > lengths.most) {
    throw AggregationAborted(
        fmt::format("a message of kind {} that says it has {} bytes{}", static_cast<int>(kind), length,
                    lengths.least == kGreetingBytes ? "; start the same version at all parties" : ""));
  }
  if (come.size() - kLinkHeader < length) return std::nullopt;
  LinkMessage message = parsed(kind, come.subspan(kLinkHeader, length));
  has_begun_ = true;
  used_ += kLinkHeader + length;
  return message;
}

}  // namespace dpreduce
