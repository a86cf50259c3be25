// Whatever comes to a party over TCP inside TLS before there are keys of a run, and the file that says who may come:
// each ends with a result or with the error that it should have. What is put together from pieces is what it is at
// once.
#include "common/silos/parties.hpp"
#include "network/party_line.hpp"
#include "network/tls_connection.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace {

using namespace dpreduce;

struct Heard {
  std::vector<std::pair<LinkKind, std::uint64_t>> messages;
  bool is_refused = false;
  bool operator==(const Heard&) const = default;
};

// As a party takes them: numbers in order, acknowledgements within what was sent.
Heard heard(LinkKind first, std::span<const std::byte> bytes, std::size_t step) {
  Heard all;
  LinkReader reader(first);
  ReliableLink link;
  link.put(LinkKind::kMessage, bytes.first(std::min<std::size_t>(bytes.size(), 9)));
  link.next();
  all.is_refused = is_refused<AggregationAborted>([&] {
    for (std::size_t begin = 0; begin < bytes.size(); begin += step) {
      reader.add(bytes.subspan(begin, std::min(step, bytes.size() - begin)));
      while (const auto message = reader.next()) {
        all.messages.emplace_back(message->kind, message->number);
        DPREDUCE_ASSERT(message->bytes.size() <= kLargestFrame);
        switch (message->kind) {
          case LinkKind::kGreeting:
          case LinkKind::kWelcome:
            link.begin_connection(message->greeting.received);
            break;
          case LinkKind::kRefusal:
          case LinkKind::kNotYet:
            DPREDUCE_ASSERT(shown_reason(message->bytes).size() <= kLongestReason);
            break;
          case LinkKind::kMessage:
          case LinkKind::kLeave:
            link.take_number(message->number);
            DPREDUCE_ASSERT(link.received() == message->number);
            break;
          case LinkKind::kReceived:
            link.take_received(message->number);
            break;
        }
      }
    }
  });
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data + 1, size - 1));
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 4) {
    case 0:
    case 1: {
      const LinkKind first = data[0] % 4 == 0 ? LinkKind::kGreeting : LinkKind::kWelcome;
      const Heard whole = heard(first, bytes, std::max<std::size_t>(1, bytes.size()));
      DPREDUCE_ASSERT(heard(first, bytes, 1) == whole && heard(first, bytes, 7) == whole);
      break;
    }
    case 2:
      is_refused<BadInput>([&] {
        const Roster roster = parse_roster(text, "roster.toml");
        DPREDUCE_ASSERT(roster.silos() >= 1 && roster.silos() <= kMostSilos);
      });
      break;
    default:
      is_refused<UsageError>([&] { DPREDUCE_ASSERT(!parse_address("--connect", text).port.empty()); });
  }
  return 0;
}
