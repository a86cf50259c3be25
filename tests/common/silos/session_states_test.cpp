// Any message in any state of a silo's session: in the place of each message that is due, each kind of message with
// several bodies, sealed as the coordinator seals. The silo goes on with what was due, or refuses, for good.
#include "tests/common/silos/session_script.hpp"
#include "tests/slow_tests.hpp"
#include "tests/testing.hpp"

namespace dpreduce::session_states_test {

using Bytes = std::vector<std::byte>;

// What a run that goes well is made of.
std::vector<std::pair<FrameKind, Bytes>> due_messages() {
  std::vector<std::pair<FrameKind, Bytes>> due;
  const SessionEnd end = play_session([&](std::size_t number, FrameKind& kind, Bytes& payload) {
    EXPECT_EQ(number, due.size());
    due.emplace_back(kind, payload);
    return true;
  });
  EXPECT_EQ(end.refusal, "");
  EXPECT_EQ(end.broken_promise, "");
  return due;
}

// Whether a silo may go on with that in the place of what is due: values that are not checked, but signed with the next
// sum, so that silos which were told different ones make none.
bool may_pass(FrameKind due, FrameKind told, const Bytes& due_body, const Bytes& body) {
  if (told != due) return false;
  if (due == FrameKind::kNumber) return body == due_body || body == Bytes(8);  // others here are no whole numbers
  if (due == FrameKind::kBroadcast) return body.size() == due_body.size();
  return body == due_body;
}

TEST(SessionStates, AnyMessageInAnyStateIsRefusedForGoodWhereItIsNotDue) {
  const auto due = due_messages();
  ASSERT_GT(due.size(), 15U);
  std::size_t stories = 0;
  for (std::size_t state = 0; state < due.size(); ++state) {
    for (const auto& [name, kind_of_name] : spellings<FrameKind>) {
      const FrameKind kind = kind_of_name;
      const auto same = std::ranges::find(due, kind, [](const auto& message) { return message.first; });
      const Bytes honest = kind == due[state].first ? due[state].second : same == due.end() ? Bytes() : same->second;
      std::vector<Bytes> bodies{honest};
      if (runs_slow_tests() || kind == due[state].first) {
        Bytes shorter = honest;
        if (!shorter.empty()) shorter.pop_back();
        Bytes longer = honest;
        longer.push_back({});
        Bytes changed = honest;
        if (!changed.empty()) changed[changed.size() / 2] ^= std::byte{1};
        bodies.insert(bodies.end(), {{}, shorter, longer, changed, Bytes(8), Bytes(4096, std::byte{0xff})});
      }
      for (const Bytes& body : bodies) {
        bool passes = true;
        const SessionEnd end = play_session([&](std::size_t number, FrameKind& told, Bytes& payload) {
          if (number != state) return true;
          // What is due differs from run to run: keys are new.
          Bytes own = body;
          if (kind == told && body == honest) own = payload;
          passes = may_pass(told, kind, payload, own);
          told = kind;
          payload = std::move(own);
          return true;
        });
        ++stories;
        ASSERT_EQ(end.broken_promise, "") << name << " in state " << state << ", " << body.size() << " bytes";
        if (!passes) {
          ASSERT_NE(end.refusal, "") << name << " in state " << state << ", " << body.size() << " bytes";
        }
      }
    }
  }
  fmt::print("{} stories of {} states\n", stories, due.size());
}

TEST(SessionStates, SilenceInAnyStateEndsTheSession) {
  const std::size_t states = due_messages().size();
  for (std::size_t state = 0; state < states; ++state) {
    const SessionEnd end = play_session([&](std::size_t number, FrameKind&, Bytes&) { return number != state; });
    EXPECT_NE(end.refusal, "") << state;
    EXPECT_EQ(end.broken_promise, "") << state;
  }
}

}  // namespace dpreduce::session_states_test
