#include "common/base/error.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/silos/frame.hpp"
#include "tests/testing.hpp"

namespace dpreduce::channel_test {

using Bytes = std::vector<std::byte>;

class ChannelTest : public testing::Test {
 protected:
  ChannelTest() {
    secure_bytes(secret_);
    run_[0] = std::byte{7};
  }
  Channel coordinator(std::uint32_t silo = 3) { return Channel(secret_, run_, 0, silo); }
  Channel silo(std::uint32_t number = 3) { return Channel(secret_, run_, number, 0); }
  static std::string refusal(Channel& channel, std::uint64_t round, const Bytes& frame) {
    return dpreduce::refusal<AggregationAborted>([&] { channel.open(round, frame); });
  }
  SecretVector<std::byte> secret_ = SecretVector<std::byte>(32);
  RunId run_{};
  Bytes text_{std::byte{'h'}, std::byte{'i'}};
};

TEST_F(ChannelTest, MessagesArriveInBothDirections) {
  Channel there = silo();
  Channel here = coordinator();
  for (std::uint64_t round = 0; round < 3; ++round) {
    const OpenedMessage opened = here.open(round, there.seal(FrameKind::kShares, round, text_));
    EXPECT_EQ(opened.kind, FrameKind::kShares);
    EXPECT_EQ(opened.payload, text_);
    EXPECT_EQ(there.open(round, here.seal(FrameKind::kDone, round, {})).payload, Bytes());
  }
}

TEST_F(ChannelTest, WhatIsOnTheWireIsNotThePayload) {
  Channel there = silo();
  const Bytes zeros(64);
  const Bytes first = there.seal(FrameKind::kMasked, 1, zeros);
  const Bytes second = there.seal(FrameKind::kMasked, 1, zeros);
  EXPECT_NE(Bytes(first.begin() + kHeaderBytes, first.end()), Bytes(second.begin() + kHeaderBytes, second.end()));
}

TEST_F(ChannelTest, EveryMisuseIsRefusedByName) {
  Channel there = silo();
  const Bytes first = there.seal(FrameKind::kShares, 1, text_);
  const Bytes second = there.seal(FrameKind::kShares, 1, text_);
  Channel fresh = coordinator();
  EXPECT_THAT(refusal(fresh, 1, second), HasSubstr("out of order"));
  EXPECT_THAT(refusal(fresh, 2, first), HasSubstr("stale"));
  EXPECT_THAT(refusal(fresh, 0, first), HasSubstr("of round 1, but the current round is 0"));
  EXPECT_EQ(refusal(fresh, 1, first), "");
  EXPECT_THAT(refusal(fresh, 1, first), HasSubstr("a replay"));
  EXPECT_THAT(refusal(fresh, 1, fresh.seal(FrameKind::kShares, 1, text_)), HasSubstr("a reflection"));
  Channel other = silo(4);
  EXPECT_THAT(refusal(fresh, 1, other.seal(FrameKind::kShares, 1, text_)), HasSubstr("names party 4"));
}

TEST_F(ChannelTest, AForeignKeyRunOrPairOpensNothing) {
  Channel here = coordinator();
  SecretVector<std::byte> foreign(32);
  secure_bytes(foreign);
  EXPECT_THAT(refusal(here, 1, Channel(foreign, run_, 3, 0).seal(FrameKind::kShares, 1, text_)),
              HasSubstr("authentication"));
  RunId other_run = run_;
  other_run[31] = std::byte{1};
  EXPECT_THAT(refusal(here, 1, Channel(secret_, other_run, 3, 0).seal(FrameKind::kShares, 1, text_)),
              HasSubstr("authentication"));
}

TEST_F(ChannelTest, EveryByteAndEveryLengthIsAuthenticated) {
  Channel there = silo();
  const Bytes proper = there.seal(FrameKind::kShares, 1, text_);
  Channel here = coordinator();
  for (std::size_t place = 0; place < proper.size(); ++place) {
    Bytes changed = proper;
    changed[place] ^= std::byte{1};
    EXPECT_NE(refusal(here, 1, changed), "") << place;
  }
  for (std::size_t length = 0; length <= proper.size() + 1; ++length) {
    Bytes other = proper;
    other.resize(length);
    if (other == proper) continue;
    EXPECT_NE(refusal(here, 1, other), "") << length;
  }
  EXPECT_NE(refusal(here, 1, Bytes(kLargestFrame + 1)), "");
  EXPECT_EQ(refusal(here, 1, proper), "");
}

TEST_F(ChannelTest, KindsHaveOneNameEach) {
  for (int number = 1; number <= 21; ++number) {
    const auto kind = static_cast<FrameKind>(number);
    EXPECT_EQ(choice_of<FrameKind>(to_string(kind)), kind);
  }
  EXPECT_EQ(to_string(static_cast<FrameKind>(22)), "unknown");
  EXPECT_EQ(choice_of<FrameKind>("nothing"), std::nullopt);
}

// By Python's hmac: HMAC(HMAC(run, secret), info | 1), each number of the info in 8 bytes, texts behind their length.
TEST(KeyDerivation, IsThatOfRfc5869) {
  KeyContext context{{}, 1, 2, "purpose", 3, 4};
  context.run.fill(std::byte{7});
  EXPECT_EQ(to_hex(derive_key(SecretVector<std::byte>(32, std::byte{1}), context)),
            "69d563d929d53b0730ea221e4fa12b349085b7020ca8d4469a5028f532a1be49");
}

TEST(KeyDerivation, EveryPartOfTheContextCounts) {
  const SecretVector<std::byte> secret(32, std::byte{1});
  const KeyContext context{{}, 1, 2, "purpose", 3, 4};
  const auto key = derive_key(secret, context);
  EXPECT_EQ(derive_key(secret, context), key);
  RunId run{};
  run[5] = std::byte{1};
  const KeyContext others[] = {{run, 1, 2, "purpose", 3, 4}, {{}, 2, 2, "purpose", 3, 4}, {{}, 1, 1, "purpose", 3, 4},
                               {{}, 1, 2, "purposes", 3, 4}, {{}, 1, 2, "purpose", 4, 4}, {{}, 1, 2, "purpose", 3, 3}};
  for (std::size_t part = 0; part < std::size(others); ++part) EXPECT_NE(derive_key(secret, others[part]), key) << part;
}

TEST(AgreementKeys, AgreeInPairsAndAreTheirSecrets) {
  const AgreementKey one = AgreementKey::generate();
  const AgreementKey other = AgreementKey::generate();
  EXPECT_EQ(one.agree(other.public_key()), other.agree(one.public_key()));
  EXPECT_EQ(AgreementKey(one.secret()).public_key(), one.public_key());
  EXPECT_THROW(one.agree(PublicKey{}), AggregationAborted);  // a point of small order
}

}  // namespace dpreduce::channel_test
