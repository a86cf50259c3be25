// What a coordinator takes from silos that do not keep to the protocol: each such silo is lost, and the others are
// summed.
#include "common/silos/coordinator_session.hpp"

#include "tests/common/silos/memory_wire.hpp"
#include "tests/testing.hpp"

namespace dpreduce::coordinator_session_test {

using Payload = std::vector<std::byte>;

constexpr std::uint32_t kOdd = 2;
constexpr std::size_t kWords = 10;
constexpr auto kLate = std::chrono::milliseconds(300);
const SiloTerms kTerms{4, 3, 0};

std::vector<std::uint64_t> words(std::uint64_t of) {
  return std::vector<std::uint64_t>(kWords, of);
}

// What silo kOdd sends otherwise: in its message of that kind, the number-th of the run; 0: in each. Its hello comes as
// it is, and late.
struct Oddity {
  std::string what;
  FrameKind at;
  int number;
  std::function<void(FrameKind&, Payload&)> change;
  std::string reason;                                // for which it is lost
  std::optional<PublicKey> mask_key = std::nullopt;  // what it advertises and signs, in the place of its own
};

// Silo `number` of a run of one agreement, one sum and one largest number, with its payloads in the test's hands.
class HandledSilo final : public SiloSession {
 public:
  HandledSilo(Wire& wire, std::uint32_t number, SiloEntry own, const Oddity& oddity)
      : SiloSession(wire, number, std::move(own)), number_(number), oddity_(oddity) {}

  void play() {
    if (number_ == kOdd && oddity_.at == FrameKind::kHello) std::this_thread::sleep_for(kLate);
    connect();
    if (agree(kNobodyFailed) != kNobodyFailed) return;
    sum(words(number_));
    largest(number_);
  }

 private:
  void send(FrameKind kind, std::span<const std::byte> payload) override {
    Payload sent(payload.begin(), payload.end());
    if (number_ == kOdd && kind == FrameKind::kAdvertise && oddity_.mask_key) {
      const std::uint32_t attempt = PayloadReader(payload).u32();
      const SumAttempt signed_for{run(), 2, attempt, kWords, kTerms.threshold, kTerms.colluding, Transcript().digest()};
      Advertisement lie{*oddity_.mask_key, {}, {}};
      lie.signature = entry().identity.sign(signed_part(signed_for, number_, lie));
      sent = PayloadWriter().u32(attempt).plain(lie).take();
    }
    if (number_ == kOdd && kind == oddity_.at && (oddity_.number == 0 || ++sent_ == oddity_.number)) {
      oddity_.change(kind, sent);
    }
    SiloSession::send(kind, sent);
  }

  std::uint32_t number_;
  const Oddity& oddity_;
  int sent_ = 0;
};

class CoordinatorSessionTest : public testing::Test {
 protected:
  // Of four silos three must stay.
  void run(const Oddity& oddity) {
    MessageQueues queues(5);
    queues_ = &queues;
    queues.watch([this](std::uint32_t to, const Message&) {
      if (to == kOdd) std::this_thread::sleep_for(takes_for_);
    });
    sum_.assign(kWords, 0);
    const auto take_part = [&](std::uint32_t number) {
      if (number == absent_) return queues.post(0, {number, {}, true});
      try {
        MemoryWire wire(queues, number);
        HandledSilo(wire, number, entry_of_party(), oddity).play();
      } catch (const std::exception&) {  // it is lost, or the run has ended
      }
    };
    std::vector<std::jthread> silos;
    for (std::uint32_t number = 1; number <= 4; ++number) silos.emplace_back(take_part, number);
    MemoryWire wire(queues, 0);
    SiloEntry entry = entry_of_party();
    entry.patience = patience_;
    CoordinatorSession session(wire, std::move(entry));
    try {
      session.connect();
      EXPECT_EQ(session.agree(kNobodyFailed), kNobodyFailed);
      session.sum(sum_);
      largest_ = session.largest(2.0);
    } catch (const AggregationAborted& refusal) {
      refusal_ = refusal.what();
    }
    lost_ = session.lost();
    summed_ = session.last_summed();
    for (std::uint32_t number = 1; number <= 4; ++number) queues.post(number, {0, {}, true});  // waits for no more
  }

  // The only one, of a run that goes on without it.
  LostSilo lost_alone() const {
    EXPECT_EQ(refusal_, "");
    EXPECT_EQ(lost_.size(), 1U);
    return lost_.empty() ? LostSilo{} : lost_.front();
  }
  void expect_out_of_patience() const {
    EXPECT_THAT(refusal_,
                AllOf(HasSubstr("silo 2: 3 others have waited for it"), HasSubstr("--silo-patience is 0.25 s")));
  }

  static SiloEntry entry_of_party() {
    return simulated_entry({.terms = kTerms, .timeout = std::chrono::milliseconds(10000)});
  }

  std::optional<std::chrono::milliseconds> patience_;
  std::chrono::milliseconds takes_for_{0};  // silo kOdd, for each message
  std::uint32_t absent_ = 0;                // a silo that leaves before it says anything; 0: none
  MessageQueues* queues_ = nullptr;         // of the run
  std::vector<std::uint64_t> sum_;
  double largest_ = 0.0;
  std::vector<std::uint32_t> summed_;
  std::vector<LostSilo> lost_;
  std::string refusal_;  // with which the coordinator ends the run
};

// Another attempt's number stands in the first word.
void of_another_attempt(FrameKind&, Payload& payload) {
  payload[0] ^= std::byte{2};
}

void under_another_name(FrameKind& kind, Payload&) {
  kind = kind == FrameKind::kNumber ? FrameKind::kStatus : FrameKind::kNumber;
}

const Oddity kNothingOdd{"", FrameKind::kOffer, 1, nullptr, ""};

std::vector<Oddity> oddities() {
  std::vector<Oddity> all;
  for (const double number : {-1.0, 2.5, std::numeric_limits<double>::quiet_NaN(), 0x1.0p54}) {
    all.push_back({fmt::format("with the number {}", number), FrameKind::kNumber, 1,
                   [number](FrameKind&, Payload& payload) {
                     payload = PayloadWriter().u64(std::bit_cast<std::uint64_t>(number)).take();
                   },
                   "its number is not a whole one from 0 to 2^53"});
  }
  const std::pair<FrameKind, int> of_a_sum[] = {{FrameKind::kAdvertise, 1},
                                                {FrameKind::kShares, 1},
                                                {FrameKind::kConsent, 1},
                                                {FrameKind::kConsent, 2},
                                                {FrameKind::kReveal, 1}};
  for (const auto& [kind, number] : of_a_sum) {
    all.push_back({"of another attempt", kind, number, of_another_attempt, "it mixes up attempts at a sum"});
  }
  std::vector<std::pair<FrameKind, int>> of_a_run(std::begin(of_a_sum), std::end(of_a_sum));
  of_a_run.insert(of_a_run.end(), {{FrameKind::kStatus, 1}, {FrameKind::kNumber, 1}, {FrameKind::kMasked, 1}});
  for (const auto& [kind, number] : of_a_run) {
    all.push_back({"with a byte more", kind, number, [](FrameKind&, Payload& payload) { payload.emplace_back(); }, ""});
    all.push_back({"with a byte less", kind, number, [](FrameKind&, Payload& payload) { payload.pop_back(); }, ""});
    all.push_back({"under another name", kind, number, under_another_name, "it sends \""});
  }
  return all;
}

TEST_F(CoordinatorSessionTest, ASiloThatSendsAnythingElseThanIsDueIsLostAndTheOthersAreSummed) {
  for (const Oddity& oddity : oddities()) {
    SCOPED_TRACE(fmt::format("{} #{}, {}", to_string(oddity.at), oddity.number, oddity.what));
    run(oddity);
    const LostSilo lost = lost_alone();
    ASSERT_EQ(lost.silo, kOdd);
    EXPECT_EQ(lost.phase, to_string(oddity.at));
    EXPECT_THAT(lost.reason, HasSubstr(oddity.reason));
    EXPECT_EQ(sum_, words(std::accumulate(summed_.begin(), summed_.end(), std::uint64_t{0})));
    const bool has_masked = (oddity.at == FrameKind::kConsent && oddity.number == 2) ||
                            oddity.at == FrameKind::kReveal || oddity.at == FrameKind::kNumber;
    EXPECT_EQ(summed_.size(), has_masked ? 4U : 3U);
    EXPECT_EQ(largest_, 4.0);
  }
}

// Every honest silo would refuse it: the liar is lost, by name, and nobody else.
TEST_F(CoordinatorSessionTest, ASiloWhoseSignedMaskKeyGivesNoSecretIsLostAloneAndByName) {
  const auto as_it_is = [](FrameKind&, Payload&) {};
  run({"of small order", FrameKind::kAdvertise, 1, as_it_is, "", PublicKey{}});
  EXPECT_EQ(lost_alone().silo, kOdd);
  EXPECT_EQ(lost_alone().phase, "advertise");
  EXPECT_THAT(lost_alone().reason, HasSubstr("its mask key is a point of small order"));
  EXPECT_EQ(sum_, words(1 + 3 + 4));
}

// Pieces of an attempt that was given up may still be on their way, and are no part of another one. Where none was
// given up there are none.
TEST_F(CoordinatorSessionTest, AStatisticOfAnotherAttemptIsNotSummed) {
  run({"of another attempt", FrameKind::kMasked, 1, of_another_attempt, ""});
  EXPECT_THAT(lost_alone().reason, HasSubstr("belong to no attempt"));
  EXPECT_EQ(sum_, words(1 + 3 + 4));
}

// A silo that answers just in time, each time, holds the others for so long in all, and not for as many timeouts as
// there are waits.
TEST_F(CoordinatorSessionTest, PatienceWithASiloIsBoundedOverTheWholeRun) {
  const auto late = [](FrameKind&, Payload&) { std::this_thread::sleep_for(std::chrono::milliseconds(150)); };
  patience_ = std::chrono::milliseconds(400);
  run({"late twice", FrameKind::kConsent, 0, late, ""});
  EXPECT_EQ(refusal_, "");
  EXPECT_TRUE(lost_.empty());
  patience_ = std::chrono::milliseconds(250);
  run({"late twice", FrameKind::kConsent, 0, late, ""});
  expect_out_of_patience();
  EXPECT_EQ(sum_, words(0));
}

// While a message waits to be taken by one silo, no other gets its own.
TEST_F(CoordinatorSessionTest, PatienceIsAlsoSpentBySlowlyTakingMessages) {
  patience_ = std::chrono::milliseconds(250);
  takes_for_ = std::chrono::milliseconds(60);
  run(kNothingOdd);
  expect_out_of_patience();
  EXPECT_TRUE(lost_.empty());
}

// Of three silos that are left two have answered: t do not wait yet.
TEST_F(CoordinatorSessionTest, ALostSiloIsNoneOfThoseThatWait) {
  absent_ = 4;
  patience_ = kLate / 3;
  run({"late", FrameKind::kHello, 1, nullptr, ""});
  EXPECT_EQ(lost_alone().silo, 4U);
  EXPECT_EQ(sum_, words(1 + 2 + 3));
}

// Nobody waits for a silo that has answered, or is lost.
TEST_F(CoordinatorSessionTest, ALostSiloThatGoesOnSendingSpendsNoPatience) {
  constexpr int kMessages = 20;
  const auto late = [this](FrameKind&, Payload&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (int message = 0; message < kMessages; ++message) queues_->post(0, {4, Payload(50), false});
  };
  patience_ = std::chrono::milliseconds(1000);
  run({"late", FrameKind::kConsent, 1, late, ""});
  EXPECT_EQ(lost_alone().silo, 4U);
}

}  // namespace dpreduce::coordinator_session_test
