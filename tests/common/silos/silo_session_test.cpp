// What a silo refuses to do for a coordinator that does not keep to the protocol.
#include "common/silos/silo_session.hpp"

#include "tests/common/silos/one_honest_silo.hpp"
#include "tests/common/silos/session_script.hpp"

namespace dpreduce::silo_session_test {

using Bytes = std::vector<std::byte>;

const std::vector<std::uint64_t> kValues(kScriptWords, 7);

// The head of a message of an attempt, and with it the number of words to be summed.
Bytes in(std::uint32_t attempt) {
  return PayloadWriter().u32(attempt).take();
}
Bytes sum_in(std::uint32_t attempt, std::uint64_t words = kScriptWords) {
  return PayloadWriter().u32(attempt).u64(words).take();
}

// A message in the place of the number-th one of a kind. Attempts at each sum have the numbers 1 and 4.
struct Told {
  FrameKind due;
  int number;
  FrameKind told;
  Bytes payload;
  std::string refusal;
};

// Two sums of one statistic over different silos would show what the silos between them have: who has signed who is
// summed takes part in no other attempt. One that is given up costs a silo its place: of two that must stay there are
// two at most. Pieces of a broadcast are as long as they can be: there is no end to those of one byte.
TEST(SiloSession, WhatIsNotDueIsRefusedByName) {
  using enum FrameKind;
  const SessionEnd whole = play_session(nullptr, 2);  // an attempt may be given up for a later one, under new keys
  EXPECT_EQ(whole.refusal + whole.broken_promise, "");
  const Told all[] = {{kDone, 1, kBegin, sum_in(5), "requests again a sum that this silo has helped to open"},
                      {kQuorum, 3, kBegin, sum_in(5), "requests again a sum that this silo has helped to open"},
                      {kUnmask, 1, kBegin, sum_in(4), "requests again a sum"},
                      {kUnmask, 1, kBegin, sum_in(5), "more often than there are silos"},
                      {kUnmask, 1, kUnmask, in(1), "mixes up attempts"},
                      {kUnmask, 1, kDone, in(4), "ends a sum too early"},
                      {kBegin, 1, kDone, in(1), "mixes up attempts"},
                      {kBegin, 1, kBegin, sum_in(1, kScriptWords + 1), "sums another statistic"},
                      {kKeys, 1, kBroadcast, in(1), "sends \"broadcast\" in a sum"},
                      {kBroadcast, 1, kBroadcast, Bytes(1), "broadcasts something else"}};
  for (const Told& one : all) {
    SCOPED_TRACE(one.refusal);
    int seen = 0;
    const auto change = [&](std::size_t, FrameKind& kind, Bytes& payload) {
      if (kind == one.due && ++seen == one.number) {
        kind = one.told;
        payload = one.payload;
      }
      return true;
    };
    const SessionEnd end = play_session(change, 2);
    EXPECT_THAT(end.refusal, HasSubstr(one.refusal));
    EXPECT_EQ(end.broken_promise, "");
  }
}

// Nobody but party 0 speaks for the coordinator: another silo's message, and its farewell, are nothing to a silo.
TEST(SiloSession, WhatAnotherSiloSendsIsNotLookedAt) {
  const SessionEnd end = play_session(nullptr, 1, true);
  EXPECT_EQ(end.refusal, "");
  EXPECT_EQ(end.broken_promise, "");
}

// Once an attempt, when all have agreed on who takes part, and before anything of the values leaves.
TEST(SiloSession, WhatComesBeforeMaskingIsDoneForEachAttempt) {
  LyingCoordinator coordinator({});
  coordinator.sum_after_number(kScriptWords, 2);
  SiloSession session(coordinator, 1, LyingCoordinator::entry());
  std::vector<FrameKind> sent_before;
  session.set_before_masking([&](std::span<const std::uint64_t> values) {
    EXPECT_TRUE(std::ranges::equal(values, kValues)) << "not masked yet";
    sent_before.push_back(coordinator.sent().back());
    if (sent_before.size() == 2) throw BudgetRefused("no room");
  });
  session.connect();
  session.largest(1.0);
  EXPECT_EQ(refusal<BudgetRefused>([&] { session.sum(kValues); }), "no room");
  EXPECT_THAT(sent_before, ElementsAre(FrameKind::kConsent, FrameKind::kConsent));
  EXPECT_EQ(coordinator.sent().back(), FrameKind::kConsent) << "nothing is masked";
  EXPECT_EQ(std::ranges::count(coordinator.sent(), FrameKind::kMasked), 1);
}

// Not why, and whatever it is told then. That the coordinator has gone meanwhile does not take the refusal's place.
TEST(SiloSession, WhoRefusesTheRunSaysThatAndNothingMore) {
  for (const bool is_gone : {false, true}) {
    LyingCoordinator coordinator({});
    coordinator.watch([&](std::span<const std::byte> frame) {
      EXPECT_EQ(frame.size(), kHeaderBytes + kTagBytes) << "it says something";
      if (is_gone) throw AggregationAborted("the coordinator is gone");
    });
    SiloSession session(coordinator, 1, LyingCoordinator::entry());
    session.connect();
    session.refuse(ExitCode::kBudgetRefused);
    coordinator.post(FrameKind::kVerdict, 1, PayloadWriter().u64(static_cast<std::uint64_t>(kNobodyFailed)).take());
    coordinator.post(FrameKind::kBegin, 1, sum_in(1));
    EXPECT_THAT(refusal<AggregationAborted>([&] { session.sum(kValues); }),
                HasSubstr("silo 1 has already ended with exit code 4, and takes no further part"));
    EXPECT_EQ(coordinator.sent(), std::vector(is_gone ? 0 : 1, FrameKind::kRefusal));
  }
}

TEST(SiloSession, OtherTermsThanItsOwnAreRefused) {
  LyingCoordinator coordinator({});
  SiloEntry entry = LyingCoordinator::entry();
  entry.terms.threshold = 1;
  SiloSession session(coordinator, 1, std::move(entry));
  EXPECT_THAT(refusal<AggregationAborted>([&] { session.connect(); }), HasSubstr("offers 2 silos, threshold 2"));
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

}  // namespace dpreduce::silo_session_test
