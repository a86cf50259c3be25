// A sum as a silo sees it: which messages it takes at which time, in which attempt.
#include "common/base/error.hpp"
#include "common/silos/masking_silo.hpp"
#include "tests/common/silos/silo_parties.hpp"
#include "tests/testing.hpp"

namespace dpreduce::silo_sum_test {

// Silos 1 and 2 of two, both of which must stay.
class SiloSumTest : public testing::Test {
 protected:
  SiloSumTest() : parties_(2) {
    for (const std::uint32_t silo : {1U, 2U}) silos_.emplace_back(parties_.self(silo), kTerms, all_silos(2));
  }

  SiloSum& silo(std::uint32_t number) { return silos_[number - 1]; }
  OpenedMessage take(std::uint32_t number, FrameKind kind, std::uint32_t attempt, PayloadWriter writer = {}) {
    const std::vector<std::byte> body = writer.take();
    PayloadReader reader(body);
    return silo(number).take(kind, attempt, reader);
  }
  std::string refusal(std::uint32_t number, FrameKind kind, std::uint32_t attempt, const PayloadWriter& writer = {}) {
    return dpreduce::refusal<AggregationAborted>([&] { take(number, kind, attempt, writer); });
  }
  static PayloadWriter words(std::uint64_t count) { return PayloadWriter().u64(count); }

  template <typename Body>
  std::vector<OpenedMessage> take_both(FrameKind kind, std::uint32_t attempt, const Body& body_for) {
    return {take(1, kind, attempt, body_for(1U)), take(2, kind, attempt, body_for(2U))};
  }
  static std::vector<std::byte> part_of(const OpenedMessage& due, std::size_t first, std::size_t length) {
    const auto begin = due.payload.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(length)};
  }
  static PayloadWriter quorum_of(ListStage stage, const std::vector<OpenedMessage>& consents) {
    std::map<std::uint32_t, Signature> signatures;
    for (std::uint32_t number : {1U, 2U}) {
      PayloadReader reader(consents[number - 1].payload);
      EXPECT_EQ(reader.u32(), static_cast<std::uint32_t>(stage));
      signatures.emplace(number, reader.array<64>());
    }
    return PayloadWriter().bytes(make_quorum(stage, signatures));
  }

  // Both have masked one word in that attempt.
  void up_to_masked(std::uint32_t attempt) {
    const auto advertised = take_both(FrameKind::kBegin, attempt, [](std::uint32_t) { return words(1); });
    const auto shared = take_both(FrameKind::kKeys, attempt, [&](std::uint32_t number) {
      return PayloadWriter().numbers(all_silos(2)).bytes(advertised[2 - number].payload);
    });
    const auto consents = take_both(FrameKind::kDelivery, attempt, [&](std::uint32_t number) {
      // Behind one's own commitments (of silo 1, as holder 1) stands what is for the other; before them in silo 2's.
      return PayloadWriter()
          .numbers(all_silos(2))
          .bytes(part_of(shared[2 - number], number == 1 ? 0 : sizeof(ShareCommitments),
                         sizeof(ShareCommitments) + kSealedSharesBytes));
    });
    const auto due =
        take_both(FrameKind::kQuorum, attempt, [&](std::uint32_t) { return quorum_of(ListStage::kSharing, consents); });
    for (const std::uint32_t number : {1U, 2U}) {
      EXPECT_EQ(due[number - 1].kind, FrameKind::kMasked);
      std::array<std::uint64_t, 1> word{number};
      silo(number).mask(0, word);
      masked_[number - 1] = word[0];
    }
  }
  std::vector<OpenedMessage> sign_summed(std::uint32_t attempt) {
    return take_both(FrameKind::kUnmask, attempt, [](std::uint32_t) { return PayloadWriter().numbers(all_silos(2)); });
  }

  static constexpr SumAttempt kTerms{{}, 5, 0, 1, 2, 0, {}};
  SiloParties parties_;
  std::vector<SiloSum> silos_;
  std::array<std::uint64_t, 2> masked_{};
};

TEST_F(SiloSumTest, EndsWhenBothSecretsAreRevealed) {
  up_to_masked(1);
  EXPECT_NE(masked_[0], 1U);
  const auto consents = sign_summed(1);
  const auto reveals =
      take_both(FrameKind::kQuorum, 1, [&](std::uint32_t) { return quorum_of(ListStage::kSummed, consents); });
  for (const OpenedMessage& reveal : reveals) EXPECT_EQ(reveal.kind, FrameKind::kReveal);
  for (const std::uint32_t number : {1U, 2U}) EXPECT_EQ(take(number, FrameKind::kDone, 1).kind, FrameKind::kDone);
}

TEST_F(SiloSumTest, AnAttemptMayBeGivenUpForALaterOne) {
  up_to_masked(1);
  const auto first = masked_;
  up_to_masked(4);
  EXPECT_NE(masked_, first);  // under new keys
  EXPECT_EQ(silo(1).attempt(), 4U);
  EXPECT_THAT(refusal(1, FrameKind::kBegin, 4, words(1)), HasSubstr("requests again a sum"));
  EXPECT_THAT(refusal(2, FrameKind::kUnmask, 1), HasSubstr("mixes up attempts"));
}

// An attempt that is given up costs a silo its place: of two silos both of which must stay there are two at most.
TEST_F(SiloSumTest, AttemptsHaveAnEnd) {
  take(1, FrameKind::kBegin, 1, words(1));
  take(1, FrameKind::kBegin, 2, words(1));
  EXPECT_THAT(refusal(1, FrameKind::kBegin, 3, words(1)), HasSubstr("more often than there are silos"));
}

TEST_F(SiloSumTest, WhoHasSignedWhoIsSummedTakesPartInNoOtherAttempt) {
  up_to_masked(1);
  sign_summed(1);
  EXPECT_THAT(refusal(1, FrameKind::kBegin, 2, words(1)), HasSubstr("this silo has helped to open"));
}

TEST_F(SiloSumTest, DoesNotEndBeforeItHasRevealed) {
  EXPECT_THAT(refusal(1, FrameKind::kDone, 1), HasSubstr("mixes up attempts"));
  up_to_masked(1);
  EXPECT_THAT(refusal(1, FrameKind::kDone, 1), HasSubstr("ends a sum too early"));
}

TEST_F(SiloSumTest, RefusesOtherWordsSilosAndMessages) {
  EXPECT_THAT(refusal(1, FrameKind::kBegin, 1, words(2)), HasSubstr("sums another statistic"));
  take(2, FrameKind::kBegin, 1, words(1));
  EXPECT_THAT(refusal(2, FrameKind::kBroadcast, 1), HasSubstr("sends \"broadcast\" in a sum"));
}

TEST_F(SiloSumTest, RefusesASiloThatIsNotLeft) {
  const SiloParties three(3);
  std::vector<SiloSum> silos;
  std::vector<std::vector<std::byte>> advertised;
  for (const std::uint32_t number : all_silos(3)) {
    silos.emplace_back(three.self(number), kTerms, SiloList{1, 2});
    const auto body = words(1).take();
    PayloadReader reader(body);
    advertised.push_back(silos.back().take(FrameKind::kBegin, 1, reader).payload);
  }
  const auto keys = PayloadWriter().numbers(all_silos(3)).bytes(advertised[1]).bytes(advertised[2]).take();
  PayloadReader reader(keys);
  EXPECT_THROW(silos[0].take(FrameKind::kKeys, 1, reader), AggregationAborted);
}

}  // namespace dpreduce::silo_sum_test
