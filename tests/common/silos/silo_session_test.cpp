// What a silo refuses to do for a coordinator that does not keep to the protocol.
#include "common/silos/silo_session.hpp"

#include <atomic>
#include <future>

#include "common/base/error.hpp"
#include "tests/common/silos/memory_wire.hpp"
#include "tests/common/silos/one_honest_silo.hpp"
#include "tests/testing.hpp"

namespace dpreduce::silo_session_test {

constexpr std::size_t kWords = 10;

// A silo's wire, whose line can break.
class BreakableWire final : public Wire {
 public:
  explicit BreakableWire(Wire& wire) : wire_(wire) {}
  void break_off() { is_broken_ = true; }
  void send(std::uint32_t to, std::vector<std::byte> bytes) override {
    if (is_broken_) throw AggregationAborted("the coordinator is gone");
    wire_.send(to, std::move(bytes));
  }
  std::optional<Message> receive(WireClock::time_point until) override { return wire_.receive(until); }

 private:
  Wire& wire_;
  bool is_broken_ = false;
};

// Two honest silos that want to sum once, and a coordinator in the test's hands.
class SiloSessionTest : public testing::Test {
 protected:
  SiloSessionTest() : queues_(3), wire_(queues_, 0) {
    for (std::uint32_t silo = 1; silo <= 2; ++silo) {
      refusals_.push_back(std::async(std::launch::async, [this, silo] { return sum_once(silo); }));
    }
  }
  ~SiloSessionTest() override {
    for (std::uint32_t silo = 1; silo <= 2; ++silo) queues_.post(silo, {0, {}, true});
  }

  std::string sum_once(std::uint32_t silo) {
    MemoryWire plain(queues_, silo);
    BreakableWire wire(plain);
    try {
      SiloSession session(wire, silo,
                          {.terms = terms_,
                           .roster = std::nullopt,
                           .identity = Identity::generate(),
                           .timeout = std::chrono::milliseconds(20000)});
      session.set_before_masking([&](std::span<const std::uint64_t> values) {
        EXPECT_EQ(values.size(), kWords);
        EXPECT_EQ(values[0], silo) << "not masked yet";
        ++steps_before_masking_.at(silo - 1);
        if (silo == refuses_to_mask_) throw BudgetRefused("no room");
      });
      session.connect();
      if (silo == loses_its_line_) wire.break_off();
      if (silo == refuses_the_run_) session.refuse(ExitCode::kBudgetRefused);
      if (hears_first_) {
        std::array<std::byte, 8> heard{};
        session.receive_broadcast(heard);
      }
      const std::vector<std::uint64_t> values(kWords, silo);
      session.sum(values);
    } catch (const PeerFailed&) {
      return "the coordinator is gone";
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  Message next() { return wire_.receive(WireClock::now() + std::chrono::seconds(20)).value(); }

  void connect() {
    const AgreementKey key = AgreementKey::generate();
    const Offer offer{{}, terms_, {}, identity_.public_key(), key.public_key(), {}};
    for (std::uint32_t silo = 1; silo <= 2; ++silo) wire_.send(silo, make_offer(offer, identity_, silo));
    std::map<std::uint32_t, Hello> hellos;
    while (hellos.size() < 2) {
      const Message message = next();
      hellos[message.from] = open_hello(message.bytes, offer, message.from, std::nullopt);
    }
    PayloadWriter members;
    members.numbers(std::vector<std::uint32_t>{1, 2});
    for (auto& [silo, hello] : hellos) {
      roster_.members[silo].key = hello.identity;
      channels_.emplace(silo, Channel(key.agree(hello.key), offer.run, 0, silo));
      members.plain(hello);
    }
    const std::vector<std::byte> payload = members.take();
    run_ = run_of(offer, payload);
    for (std::uint32_t silo = 1; silo <= 2; ++silo)
      wire_.send(silo, channels_.at(silo).seal(FrameKind::kMembers, 0, payload));
  }

  void send(std::uint32_t silo, FrameKind kind, std::uint32_t attempt, std::span<const std::byte> body = {}) {
    seal(silo, kind, PayloadWriter().u32(attempt).bytes(body).take());
  }
  void seal(std::uint32_t silo, FrameKind kind, const std::vector<std::byte>& payload) {
    wire_.send(silo, channels_.at(silo).seal(kind, round_, payload));
  }
  void send_both(FrameKind kind, const std::function<std::vector<std::byte>(std::uint32_t)>& body) {
    for (std::uint32_t silo = 1; silo <= 2; ++silo) send(silo, kind, attempt_, body(silo));
  }
  void take_both(const std::function<void(std::uint32_t, PayloadReader&)>& take) {
    for (int silo = 0; silo < 2; ++silo) {
      const Message message = next();
      const OpenedMessage opened = channels_.at(message.from).open(round_, message.bytes);
      PayloadReader reader(opened.payload);
      EXPECT_EQ(reader.u32(), attempt_);
      take(message.from, reader);
    }
  }
  // A broadcast before the sum: these eight bytes to all, or others to silo 2.
  void broadcast(std::uint64_t to_first, std::uint64_t to_second) {
    seal(1, FrameKind::kBroadcast, word(to_first));
    seal(2, FrameKind::kBroadcast, word(to_second));
    transcript_.add(FrameKind::kBroadcast, round_, word(to_first));
    ++round_;
  }
  static std::vector<std::byte> word(std::uint64_t number) { return PayloadWriter().u64(number).take(); }

  void agree_on_list(MaskingCoordinator& masking, ListStage stage) {
    take_both([&](std::uint32_t silo, PayloadReader& reader) { masking.take_consent(silo, stage, reader); });
    send_both(FrameKind::kQuorum, [&](std::uint32_t) { return masking.quorum(stage); });
  }

  void up_to_delivery(MaskingCoordinator& masking) {
    send_both(FrameKind::kBegin, [](std::uint32_t) { return word(kWords); });
    take_both([&](std::uint32_t silo, PayloadReader& reader) { masking.take_advertisement(silo, reader); });
    masking.close_advertising();
    send_both(FrameKind::kKeys, [&](std::uint32_t silo) { return masking.keys_for(silo); });
    take_both([&](std::uint32_t silo, PayloadReader& reader) { masking.take_shares(silo, reader); });
    masking.close_sharing();
    send_both(FrameKind::kDelivery, [&](std::uint32_t silo) { return masking.delivery_for(silo); });
  }
  void up_to_masked(MaskingCoordinator& masking) {
    up_to_delivery(masking);
    agree_on_list(masking, ListStage::kSharing);
    take_both([&](std::uint32_t silo, PayloadReader& reader) { masking.add_piece(silo, reader); });
    masking.close_masking();
  }

  // Up to where both have revealed.
  void open_a_sum() {
    MaskingCoordinator masking(roster_, {run_, round_, 1, kWords, 2, 0, transcript_.digest()});
    up_to_masked(masking);
    send_both(FrameKind::kUnmask, [&](std::uint32_t silo) { return masking.unmask_for(silo); });
    agree_on_list(masking, ListStage::kSummed);
    take_both([&](std::uint32_t silo, PayloadReader& reader) { masking.take_reveal(silo, reader); });
    std::vector<std::uint64_t> sum(kWords, 0);
    masking.add_sum_to(sum);
    EXPECT_EQ(sum, std::vector<std::uint64_t>(kWords, 3));
  }
  std::string refusal(std::uint32_t silo) { return refusals_[silo - 1].get(); }
  void expect_good_end() {
    for (const std::uint32_t silo : {1U, 2U}) send(silo, FrameKind::kDone, 1);
    for (const std::uint32_t silo : {1U, 2U}) EXPECT_EQ(refusal(silo), "") << silo;
  }
  void expect_steps_before_masking(int steps) const {
    for (const std::atomic<int>& of_silo : steps_before_masking_) EXPECT_EQ(of_silo, steps);
  }

  std::array<std::atomic<int>, 2> steps_before_masking_{};
  std::atomic<std::uint32_t> refuses_to_mask_ = 0;
  std::atomic<std::uint32_t> refuses_the_run_ = 0;
  std::atomic<std::uint32_t> loses_its_line_ = 0;  // once it is connected
  SiloTerms terms_{2, 2, 0};
  MessageQueues queues_;
  MemoryWire wire_;
  Identity identity_ = Identity::generate();
  Roster roster_{0, 0, std::vector<Member>(3)};
  RunId run_{};
  std::atomic<bool> hears_first_ = false;
  std::uint64_t round_ = 1;
  std::uint32_t attempt_ = 1;
  Transcript transcript_;
  std::map<std::uint32_t, Channel> channels_;
  std::vector<std::future<std::string>> refusals_;
};

// Two sums of one statistic over different silos would show what the silos between them have.
TEST_F(SiloSessionTest, NoStatisticIsSummedTwice) {
  connect();
  open_a_sum();
  send(1, FrameKind::kBegin, 2, word(kWords));
  send(2, FrameKind::kDone, 1);
  EXPECT_THAT(refusal(1), HasSubstr("requests again a sum that this silo has helped to open"));
  EXPECT_EQ(refusal(2), "");
}

// Once an attempt, when all have agreed on who takes part, and before anything of the values leaves.
TEST_F(SiloSessionTest, WhatComesBeforeMaskingIsDoneForEachAttempt) {
  connect();
  for (const std::uint32_t attempt : {1U, 2U}) {
    MaskingCoordinator masking(roster_, {run_, 1, attempt, kWords, 2, 0});
    attempt_ = attempt;
    up_to_delivery(masking);
    take_both(
        [&](std::uint32_t silo, PayloadReader& reader) { masking.take_consent(silo, ListStage::kSharing, reader); });
    expect_steps_before_masking(static_cast<int>(attempt) - 1);
    if (attempt == 2) refuses_to_mask_ = 1;
    send_both(FrameKind::kQuorum, [&](std::uint32_t) { return masking.quorum(ListStage::kSharing); });
    if (attempt == 2) break;
    take_both([&](std::uint32_t silo, PayloadReader& reader) { masking.add_piece(silo, reader); });
  }
  EXPECT_EQ(refusal(1), "no room");
  const Message message = next();
  EXPECT_EQ(message.from, 2U) << "silo 1 has masked nothing";
  EXPECT_EQ(channels_.at(2).open(1, message.bytes).kind, FrameKind::kMasked);
  expect_steps_before_masking(2);
}

// Not why, and whatever it is told then.
TEST_F(SiloSessionTest, WhoRefusesTheRunSaysThatAndNothingMore) {
  refuses_the_run_ = 1;
  connect();
  const Message message = next();
  EXPECT_EQ(message.from, 1U);
  const OpenedMessage opened = channels_.at(1).open(round_, message.bytes);
  EXPECT_EQ(opened.kind, FrameKind::kRefusal);
  EXPECT_TRUE(opened.payload.empty());
  const std::vector<std::byte> all_well = word(static_cast<std::uint64_t>(kNobodyFailed));
  seal(1, FrameKind::kVerdict, all_well);
  send(1, FrameKind::kBegin, attempt_, word(kWords));
  EXPECT_THAT(refusal(1), HasSubstr("silo 1 has already ended with exit code 4, and takes no further part"));
  EXPECT_FALSE(wire_.receive(WireClock::now() + std::chrono::milliseconds(20)).has_value());
}

// That the coordinator has gone meanwhile does not take the place of the refusal.
TEST_F(SiloSessionTest, ARefusalStandsThoughNobodyIsLeftToBeTold) {
  loses_its_line_ = 1;
  refuses_the_run_ = 1;
  connect();
  EXPECT_THAT(refusal(1), HasSubstr("silo 1 has already ended with exit code 4, and takes no further part"));
}

// A coordinator that tells all but one a projection to zero would learn the statistic of that one.
TEST_F(SiloSessionTest, SilosThatWereToldDifferentValuesMaskNothing) {
  hears_first_ = true;
  connect();
  broadcast(7, 8);
  MaskingCoordinator masking(roster_, {run_, round_, 1, kWords, 2, 0, transcript_.digest()});
  up_to_delivery(masking);
  std::map<std::uint32_t, Signature> signatures;
  take_both([&](std::uint32_t silo, PayloadReader& reader) {
    EXPECT_EQ(reader.u32(), static_cast<std::uint32_t>(ListStage::kSharing));
    signatures[silo] = reader.array<64>();
  });
  send_both(FrameKind::kQuorum, [&](std::uint32_t) { return make_quorum(ListStage::kSharing, signatures); });
  EXPECT_THAT(refusal(1), HasSubstr("the signature of silo 2 does not match the list that this silo received"));
  EXPECT_THAT(refusal(2), HasSubstr("sends silos different lists or values"));
  expect_steps_before_masking(0);
}

// Its own hello is among those that name the run, with the key that it has just made: an earlier run's members, whose
// signatures a coordinator may have kept, are refused even where the offer is that run's.
TEST(SiloSessionMembersTest, MembersOfAnEarlierRunAreRefused) {
  OneHonestSilo silo;
  const Hello earlier = silo.begin();
  silo.name_members(earlier);
  EXPECT_EQ(silo.refusal(), "the coordinator is gone");
  silo.begin();
  silo.name_members(earlier);
  EXPECT_THAT(silo.refusal(), HasSubstr("members of another run than this silo's"));
}

// A coordinator that stood between two silos would know the masks that they share.
TEST(SiloSessionMembersTest, AnotherSilosKeyIsThatOfItsIdentityInTheRoster) {
  using Change = std::function<void(const OneHonestSilo&, std::uint32_t, Hello&)>;
  const std::pair<const char*, Change> changes[] = {
      {"an identity that is not in the roster, with its own signature",
       [](const OneHonestSilo& run, std::uint32_t silo, Hello& hello) {
         hello = run.signed_hello(silo, Identity::generate());
       }},
      {"the identity of another member, with its own signature",
       [](const OneHonestSilo& run, std::uint32_t silo, Hello& hello) {
         hello = run.signed_hello(silo, run.identity(5 - silo));
       }},
      {"another key than the one that was signed",
       [](const OneHonestSilo&, std::uint32_t, Hello& hello) { hello.key = AgreementKey::generate().public_key(); }},
      {"another signature",
       [](const OneHonestSilo&, std::uint32_t, Hello& hello) { hello.signature[0] ^= std::byte{1}; }},
      {"what was signed as another silo", [](const OneHonestSilo& run, std::uint32_t silo, Hello& hello) {
         hello = run.signed_hello(5 - silo, run.identity(silo));
       }}};
  for (const auto& [what, change] : changes) {
    for (const std::uint32_t lied_about : {2U, 3U}) {
      SCOPED_TRACE(fmt::format("silo {}: {}", lied_about, what));
      OneHonestSilo run;
      run.name_members(run.begin(), [&, &changed = change](std::uint32_t silo, Hello& hello) {
        if (silo == lied_about) changed(run, silo, hello);
      });
      EXPECT_EQ(run.refusal(), fmt::format("the key of silo {} is not signed by it", lied_about));
    }
  }
}

TEST(SiloSessionMembersTest, MembersThatCannotBeAreRefused) {
  for (const std::vector<std::uint32_t>& present :
       {std::vector<std::uint32_t>{}, {1}, {0, 1, 2}, {1, 2, 4}, {1, 1, 2}, {1, 3, 2}}) {
    OneHonestSilo run;
    run.name_members(run.begin(), nullptr, present);
    EXPECT_THAT(run.refusal(), HasSubstr("names impossible members of this run"))
        << fmt::format("{}", fmt::join(present, " "));
  }
}

TEST(SiloSessionMembersTest, LostSilosDoNotComeBack) {
  OneHonestSilo silo;
  silo.name_members(silo.begin());
  silo.sum_with(1, {2, 3});
  silo.sum_with(2, {2});
  for (int attempt = 1; attempt <= 2; ++attempt) {
    EXPECT_EQ(silo.answer(), FrameKind::kAdvertise) << attempt;
    EXPECT_EQ(silo.answer(), FrameKind::kShares) << attempt;
  }
  silo.sum_with(3, {2, 3});
  EXPECT_THAT(silo.refusal(), HasSubstr("names a silo that is not, or no longer, part of this run"));
}

// What has been signed in one run fits no other, even where a coordinator makes the very same offer again: everybody's
// keys of the run are in what is signed.
TEST_F(SiloSessionTest, AnOfferThatIsMadeAgainIsAnotherRun) {
  connect();
  const RunId first = run_;
  const Offer offer{{}, terms_, {}, identity_.public_key(), {}, {}};
  const std::vector<std::byte> members(100, std::byte{1});
  std::vector<std::byte> another = members;
  another[99] = std::byte{2};
  EXPECT_NE(run_of(offer, members), run_of(offer, another));
  EXPECT_NE(run_of(offer, members), first);
  Offer again = offer;
  again.key[0] = std::byte{1};
  EXPECT_NE(run_of(offer, members), run_of(again, members));
}

// Pieces of a broadcast are as long as they can be: there is no end to those of one byte.
TEST_F(SiloSessionTest, APieceOfABroadcastThatIsCutShortIsRefused) {
  hears_first_ = true;
  connect();
  seal(1, FrameKind::kBroadcast, std::vector<std::byte>(1));
  EXPECT_THAT(refusal(1), HasSubstr("broadcasts something else"));
}

// Nobody but party 0 speaks for the coordinator: another silo's message, and its farewell, are nothing to a silo.
TEST_F(SiloSessionTest, WhatAnotherSiloSendsIsNotLookedAt) {
  hears_first_ = true;
  connect();
  for (int time = 0; time < 3; ++time) {
    queues_.post(1, {2, std::vector<std::byte>(1), false});
    queues_.post(1, {2, {}, true});
  }
  broadcast(7, 7);
  open_a_sum();
  expect_good_end();
}

TEST_F(SiloSessionTest, OtherTermsThanItsOwnAreRefused) {
  Offer offer{{}, {2, 1, 0}, {}, identity_.public_key(), AgreementKey::generate().public_key(), {}};
  wire_.send(1, make_offer(offer, identity_, 1));
  EXPECT_THAT(refusal(1), HasSubstr("threshold 1"));
  offer.terms = terms_;
  std::vector<std::byte> changed = make_offer(offer, identity_, 2);
  changed[kHeaderBytes + 60] ^= std::byte{1};  // of the run
  wire_.send(2, changed);
  EXPECT_THAT(refusal(2), HasSubstr("not signed by its identity"));
}

}  // namespace dpreduce::silo_session_test
