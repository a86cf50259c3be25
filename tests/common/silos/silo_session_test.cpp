// What a silo refuses to do for a coordinator that does not keep to the protocol.
#include "dpreduce/silos/silo_session.hpp"

#include <future>

#include "memory_wire.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dpreduce/config/peer_failed.hpp"

namespace dpreduce {
namespace {

using testing::HasSubstr;

constexpr std::size_t kWords = 10;

// Two honest silos that want to sum once, and a coordinator in the test's hands.
class SiloSessionTest : public testing::Test {
 protected:
  SiloSessionTest() : office_(3), wire_(office_, 0) {
    for (std::uint32_t silo = 1; silo <= 2; ++silo) {
      refusals_.push_back(std::async(std::launch::async, [this, silo] { return sum_once(silo); }));
    }
  }
  ~SiloSessionTest() override {
    for (std::uint32_t silo = 1; silo <= 2; ++silo) office_.post(silo, {0, {}, true});
  }

  std::string sum_once(std::uint32_t silo) {
    MemoryWire wire(office_, silo);
    try {
      SiloSession session(wire, silo, {terms_, std::nullopt, Identity::generate(), std::chrono::milliseconds(20000)});
      session.connect();
      const std::vector<std::uint64_t> values(kWords, silo);
      session.sum(values);
    } catch (const PeerFailed&) {
      return "the coordinator is gone";
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  Letter next() { return wire_.receive(WireClock::now() + std::chrono::seconds(20)).value(); }

  void connect() {
    const AgreementKey key = AgreementKey::generate();
    const Offer offer{{}, terms_, {}, identity_.public_key(), key.public_key(), {}};
    for (std::uint32_t silo = 1; silo <= 2; ++silo) wire_.send(silo, make_offer(offer, identity_, silo));
    std::map<std::uint32_t, Hello> hellos;
    while (hellos.size() < 2) {
      const Letter letter = next();
      hellos[letter.from] = open_hello(letter.bytes, offer, letter.from, std::nullopt);
    }
    PayloadWriter members;
    members.numbers(std::vector<std::uint32_t>{1, 2});
    for (auto& [silo, hello] : hellos) {
      roster_.members[silo].key = hello.identity;
      channels_.emplace(silo, Channel(key.agree(hello.key), offer.run, 0, silo));
      members.bytes(hello.identity).bytes(hello.key).bytes(hello.signature);
    }
    const std::vector<std::byte> payload = members.take();
    for (std::uint32_t silo = 1; silo <= 2; ++silo)
      wire_.send(silo, channels_.at(silo).seal(FrameKind::kMembers, 0, payload));
  }

  void tell(std::uint32_t silo, FrameKind kind, std::uint32_t attempt, std::span<const std::byte> body = {}) {
    wire_.send(silo, channels_.at(silo).seal(kind, 1, PayloadWriter().u32(attempt).bytes(body).take()));
  }
  void tell_both(FrameKind kind, const std::function<std::vector<std::byte>(std::uint32_t)>& body) {
    for (std::uint32_t silo = 1; silo <= 2; ++silo) tell(silo, kind, 1, body(silo));
  }
  void take_both(const std::function<void(std::uint32_t, PayloadReader&)>& take) {
    for (int silo = 0; silo < 2; ++silo) {
      const Letter letter = next();
      const Message message = channels_.at(letter.from).open(1, letter.bytes);
      PayloadReader reader(message.payload);
      EXPECT_EQ(reader.u32(), 1U);
      take(letter.from, reader);
    }
  }
  static std::vector<std::byte> words(std::uint64_t count) { return PayloadWriter().u64(count).take(); }

  // Up to where both have revealed.
  void open_a_sum() {
    MaskingCoordinator masking(roster_, {{}, 1, 1, kWords, 2, 0});
    tell_both(FrameKind::kBegin, [](std::uint32_t) { return words(kWords); });
    take_both([&](std::uint32_t silo, PayloadReader& reader) { masking.take_advertisement(silo, reader); });
    masking.close_advertising();
    tell_both(FrameKind::kKeys, [&](std::uint32_t silo) { return masking.keys_for(silo); });
    take_both([&](std::uint32_t silo, PayloadReader& reader) { masking.take_shares(silo, reader); });
    masking.close_sharing();
    tell_both(FrameKind::kDelivery, [&](std::uint32_t silo) { return masking.delivery_for(silo); });
    take_both([&](std::uint32_t silo, PayloadReader& reader) { masking.add_piece(silo, reader); });
    masking.close_masking();
    tell_both(FrameKind::kUnmask, [&](std::uint32_t) { return masking.unmask(); });
    take_both([&](std::uint32_t silo, PayloadReader& reader) { masking.take_reveal(silo, reader); });
    std::vector<std::uint64_t> sum(kWords, 0);
    masking.add_sum_to(sum);
    EXPECT_EQ(sum, std::vector<std::uint64_t>(kWords, 3));
  }
  std::string refusal(std::uint32_t silo) { return refusals_[silo - 1].get(); }

  SiloTerms terms_{2, 2, 0};
  PostOffice office_;
  MemoryWire wire_;
  Identity identity_ = Identity::generate();
  Roster roster_{0, 0, std::vector<Member>(3)};
  std::map<std::uint32_t, Channel> channels_;
  std::vector<std::future<std::string>> refusals_;
};

// Two sums of one statistic over different silos would show what the silos between them have.
TEST_F(SiloSessionTest, NoStatisticIsSummedTwice) {
  connect();
  open_a_sum();
  tell(1, FrameKind::kBegin, 2, words(kWords));
  tell(2, FrameKind::kDone, 1);
  EXPECT_THAT(refusal(1), HasSubstr("asks for a sum again that this silo has helped to open"));
  EXPECT_EQ(refusal(2), "");
}

TEST_F(SiloSessionTest, ASumOfAnotherLengthIsRefused) {
  connect();
  tell(1, FrameKind::kBegin, 1, words(kWords + 1));
  EXPECT_THAT(refusal(1), HasSubstr("another statistic"));
}

TEST_F(SiloSessionTest, PhasesOutOfTurnAreRefused) {
  connect();
  tell(1, FrameKind::kKeys, 1);
  EXPECT_THAT(refusal(1), HasSubstr("mixes up attempts"));
  tell(2, FrameKind::kBegin, 1, words(kWords));
  tell(2, FrameKind::kDone, 1);
  EXPECT_THAT(refusal(2), HasSubstr("ends a sum before it can be made"));
}

TEST_F(SiloSessionTest, OtherTermsThanItsOwnAreRefused) {
  Offer offer{{}, {2, 1, 0}, {}, identity_.public_key(), AgreementKey::generate().public_key(), {}};
  wire_.send(1, make_offer(offer, identity_, 1));
  EXPECT_THAT(refusal(1), HasSubstr("threshold 1"));
  offer.terms = terms_;
  std::vector<std::byte> changed = make_offer(offer, identity_, 2);
  changed[kHeaderBytes + 20] ^= std::byte{1};
  wire_.send(2, changed);
  EXPECT_THAT(refusal(2), HasSubstr("not signed by its identity"));
}

}  // namespace
}  // namespace dpreduce
