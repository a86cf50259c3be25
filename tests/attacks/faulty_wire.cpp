#include "tests/attacks/faulty_wire.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace dpreduce {

template <>
inline constexpr auto spellings<FaultKind> =
    std::to_array<std::pair<std::string_view, FaultKind>>({{"kill", FaultKind::kKill},
                                                           {"hang", FaultKind::kHang},
                                                           {"slow", FaultKind::kSlow},
                                                           {"corrupt", FaultKind::kCorrupt},
                                                           {"truncate", FaultKind::kTruncate},
                                                           {"replay", FaultKind::kReplay},
                                                           {"reflect", FaultKind::kReflect},
                                                           {"wrong-key", FaultKind::kWrongKey},
                                                           {"lie", FaultKind::kLie},
                                                           {"equivocate", FaultKind::kEquivocate},
                                                           {"overrule", FaultKind::kOverrule}});

namespace {

constexpr std::string_view kOverrule = "0:overrule";
constexpr double kMostSeconds = 1e6;

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Fault parse_fault(const std::string& text) {
  const auto refuse = [&]() {
    std::string kinds;
    for (const auto& [name, kind] : spellings<FaultKind>) kinds += fmt::format("{}{}", kinds.empty() ? "" : ", ", name);
    throw UsageError(
        fmt::format("--fault {}: must be SILO:KIND@MESSAGE or SILO:KIND@MESSAGE#N; KIND one of {} (slow=SECONDS; "
                    "overrule as {} alone); MESSAGE as in docs/how-to/simulate-silos.md",
                    text, kinds, kOverrule));
  };
  const std::string_view all = text;
  if (all == kOverrule) return {.party = 0, .kind = FaultKind::kOverrule, .at = FrameKind::kVerdict};
  const std::size_t colon = all.find(':');
  const std::size_t at = all.find('@');
  if (colon == std::string_view::npos || at == std::string_view::npos || at < colon) refuse();
  const std::size_t hash = std::min(all.find('#', at), all.size());
  std::string_view kind = all.substr(colon + 1, at - colon - 1);
  const std::size_t equals = kind.find('=');
  Fault fault;
  if (equals != std::string_view::npos) {
    const auto seconds = number_of<double>(kind.substr(equals + 1));
    kind = kind.substr(0, equals);
    if (!seconds || kind != "slow" || !(*seconds >= 0.0 && *seconds <= kMostSeconds)) refuse();
    fault.seconds = *seconds;
  } else if (kind == "slow") {
    refuse();
  }
  const auto known = choice_of<FaultKind>(kind);
  const auto party = number_of<std::uint32_t>(all.substr(0, colon));
  const auto message = choice_of<FrameKind>(all.substr(at + 1, hash - at - 1));
  const auto number = hash == all.size() ? std::optional(1U) : number_of<std::uint32_t>(all.substr(hash + 1));
  if (!known || !party || !message || !number || *number == 0) refuse();
  if (*known == FaultKind::kOverrule) refuse();  // it is at no single message
  fault.kind = *known;
  fault.party = *party;
  fault.at = *message;
  fault.number = *number;
  if (fault.kind == FaultKind::kLie && (fault.at != FrameKind::kReveal || fault.party == 0)) {
    throw UsageError(fmt::format("--fault {}: a lie is told by a silo at reveal, e.g. 2:lie@reveal", text));
  }
  if (fault.kind == FaultKind::kEquivocate &&
      (fault.party != 0 ||
       (fault.at != FrameKind::kBroadcast && fault.at != FrameKind::kDelivery && fault.at != FrameKind::kUnmask))) {
    throw UsageError(fmt::format(
        "--fault {}: the coordinator equivocates, at broadcast, delivery or unmask: 0:equivocate@broadcast, "
        "0:equivocate@delivery, 0:equivocate@unmask",
        text));
  }
  return fault;
}

SelfHarm harm_of_this_process() {
  return {[] { ::kill(::getpid(), SIGKILL); }, [] { ::kill(::getpid(), SIGSTOP); }};
}

void FaultyWire::send(std::uint32_t to, std::vector<std::byte> bytes) {
  const std::optional<FrameHeader> header = claimed_header(bytes);
  const std::vector<std::byte> proper = bytes;
  if (header && header->kind == fault_.at && ++seen_ == fault_.number) {
    switch (fault_.kind) {
      case FaultKind::kKill:
        harm_.kill();
        break;
      case FaultKind::kHang:
        harm_.hang();
        break;
      case FaultKind::kSlow:
        std::this_thread::sleep_for(std::chrono::duration<double>(fault_.seconds));
        break;
      case FaultKind::kCorrupt:
        bytes[kHeaderBytes + (bytes.size() - kHeaderBytes) / 2] ^= std::byte{1};
        break;
      case FaultKind::kTruncate:
        bytes.pop_back();
        break;
      case FaultKind::kReplay:
        bytes = last_sent_;
        break;
      case FaultKind::kReflect:
        bytes = last_received_;
        break;
      case FaultKind::kWrongKey:
        for (std::size_t place = kHeaderBytes; place < bytes.size(); ++place) bytes[place] ^= std::byte{0xa5};
        break;
      case FaultKind::kLie:
      case FaultKind::kEquivocate:
      case FaultKind::kOverrule:
        break;  // above the wire
    }
  }
  last_sent_ = proper;
  wire_.send(to, std::move(bytes));
}

std::optional<Message> FaultyWire::receive(WireClock::time_point until) {
  std::optional<Message> message = wire_.receive(until);
  if (message && !message->is_farewell) last_received_ = message->bytes;
  return message;
}

}  // namespace dpreduce
