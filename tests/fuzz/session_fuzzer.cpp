// A silo's session as a state machine: the input says at which messages the coordinator says something else than is
// due, and what. However that goes, the session ends with a result or a refusal, and what it promises holds
// (tests/common/silos/session_script.hpp).
#include "tests/common/silos/session_script.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace {

// Takes a number off the front.
std::size_t taken(std::span<const std::byte>& bytes) {
  if (bytes.empty()) return 0;
  const auto number = std::to_integer<std::size_t>(bytes.front());
  bytes = bytes.subspan(1);
  return number;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dpreduce;
  std::span<const std::byte> rest = std::as_bytes(std::span(data, size));
  const SessionEnd end = play_session([&](std::size_t, FrameKind& kind, std::vector<std::byte>& payload) {
    switch (taken(rest) % 8) {
      case 1:
        kind = static_cast<FrameKind>(1 + taken(rest) % spellings<FrameKind>.size());
        break;
      case 2:
        payload.resize(std::min(payload.size(), taken(rest)));
        break;
      case 3:
        if (!payload.empty()) payload[taken(rest) % payload.size()] ^= static_cast<std::byte>(taken(rest));
        break;
      case 4: {
        kind = static_cast<FrameKind>(1 + taken(rest) % spellings<FrameKind>.size());
        const std::size_t length = taken(rest);
        const auto body = rest.first(std::min(length, rest.size()));
        payload.assign(body.begin(), body.end());
        rest = rest.subspan(body.size());
        break;
      }
      case 5:
        payload.resize(payload.size() + 16 * taken(rest));
        break;
      case 6:
        return false;
      default:  // what is due
        break;
    }
    return true;
  });
  DPREDUCE_ASSERT(end.broken_promise.empty());
  return 0;
}
