// What a relay makes room for, by sender, kind and length.
#include "common/ranks/peer_messages.hpp"

#include "common/silos/frame.hpp"
#include "tests/testing.hpp"

namespace dpreduce::peer_messages_test {

constexpr int kShortest = static_cast<int>(kHeaderBytes + kTagBytes);
constexpr int kLongest = static_cast<int>(kLargestFrame);

TEST(PeerMessages, OnlyWhatRelaysSendIsDue) {
  EXPECT_TRUE(PeerMessages::is_due(2, PeerTag::kMessage, kShortest));
  EXPECT_TRUE(PeerMessages::is_due(2, PeerTag::kMessage, kLongest));
  EXPECT_TRUE(PeerMessages::is_due(2, PeerTag::kEnd, 1));
  EXPECT_TRUE(PeerMessages::is_due(2, PeerTag::kBeat, 0));
  EXPECT_TRUE(PeerMessages::is_due(0, PeerTag::kLeave, 0));

  for (const int length : {MPI_UNDEFINED, -1, 0, 1, kShortest - 1, kLongest + 1, 2000 << 20}) {
    EXPECT_FALSE(PeerMessages::is_due(2, PeerTag::kMessage, length)) << length;
    EXPECT_FALSE(PeerMessages::is_due(0, PeerTag::kMessage, length)) << length;
  }
  EXPECT_FALSE(PeerMessages::is_due(2, PeerTag::kEnd, 0));
  EXPECT_FALSE(PeerMessages::is_due(2, PeerTag::kEnd, 2));
  EXPECT_FALSE(PeerMessages::is_due(2, PeerTag::kBeat, 1));
  EXPECT_FALSE(PeerMessages::is_due(0, PeerTag::kLeave, 1));
  EXPECT_FALSE(PeerMessages::is_due(2, PeerTag::kLeave, 0)) << "the coordinator's alone to say";
  EXPECT_FALSE(PeerMessages::is_due(2, static_cast<PeerTag>(7), 0));
}

}  // namespace dpreduce::peer_messages_test
