// Whom relays listen to: the coordinator's relay to those that send what relays send, a silo's to the coordinator's
// alone. Rank 2 is a silo's relay that deviates.
#include <array>
#include <thread>

#include <gtest/gtest.h>

#include "common/ranks/peer_messages.hpp"
#include "common/silos/frame.hpp"

namespace dpreduce {
namespace listening_relays_test {

using Clock = PeerMessages::Clock;
constexpr std::size_t kFrame = kHeaderBytes + kTagBytes;
constexpr auto kLongest = std::chrono::seconds(60);

PeerMessages* peers = nullptr;
std::vector<PeerMessages::Arrived> taken;

template <typename Holds>
bool receive_until(const Holds& holds) {
  const auto until = Clock::now() + kLongest;
  while (!holds() && Clock::now() < until) {
    peers->free_sent();
    peers->receive([](std::size_t) { return true; }, [](PeerMessages::Arrived& one) { taken.push_back(one); });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return holds();
}

// Rank 1 hears of rank 0 when all that rank 2 sends has been sent.
TEST(ListeningRelays, NobodyIsEndedByAnotherSilosRelay) {
  if (peers->size() != 3) GTEST_SKIP();
  if (peers->rank() == 2) {
    peers->send(1, std::vector<std::byte>(1));
    peers->send(1, std::vector<std::byte>(kFrame));
    peers->send_end(1, 0);
    peers->send_mark(1, PeerTag::kLeave);
    peers->send(0, std::vector<std::byte>(kFrame));
    peers->send(0, std::vector<std::byte>(1));  // what no relay sends
    peers->send(0, std::vector<std::byte>(kFrame));
    EXPECT_TRUE(receive_until([] { return !peers->has_unsent(); }));
  } else if (peers->rank() == 0) {
    EXPECT_TRUE(receive_until([] { return peers->is_refused(2); }));
    EXPECT_FALSE(peers->is_refused(1));
    peers->send(1, std::vector<std::byte>(kFrame + 1));
    EXPECT_TRUE(receive_until([] { return taken.size() >= 2; }));
    ASSERT_EQ(taken.size(), 2U);
    EXPECT_EQ(taken[0].from, 2);
    EXPECT_EQ(taken[0].bytes.size(), kFrame);
    EXPECT_EQ(taken[1].from, 1) << "rank 2 is not listened to any more, others are";
  } else {
    EXPECT_TRUE(receive_until([] { return !taken.empty(); }));
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].from, 0);
    EXPECT_EQ(taken[0].bytes.size(), kFrame + 1);
    EXPECT_FALSE(peers->is_refused(2)) << "it is nobody to a silo";
    peers->send(0, std::vector<std::byte>(kFrame));
    EXPECT_TRUE(receive_until([] { return !peers->has_unsent(); }));
  }
}

}  // namespace listening_relays_test
}  // namespace dpreduce

int main(int argc, char** argv) {
  using namespace dpreduce;
  testing::InitGoogleTest(&argc, argv);
  PeerMessages peers;
  listening_relays_test::peers = &peers;
  const int status = RUN_ALL_TESTS();
  const auto is_left_alone = [](PeerMessages::Clock::duration waited) {
    return waited > listening_relays_test::kLongest;
  };
  return peers.leave(is_left_alone, [](PeerMessages::Arrived&) {}) ? status : 1;
}
