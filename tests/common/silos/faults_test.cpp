// Every single fault at every message of a run with 5 silos of which 3 must stay, each ends in a right sum over those
// that stay, or in a refusal that says why; none hangs. A silo that is alive and late ends the run for all.

#include <future>

#include "common/base/error.hpp"
#include "tests/common/silos/memory_wire.hpp"
#include "tests/testing.hpp"

namespace dpreduce::faults_test {

using testing::AnyOf;
using testing::Eq;

SiloRunPlan plan_with(Fault fault) {
  const std::chrono::milliseconds timeout(fault.kind == FaultKind::kHang ? 1000 : 2000);
  return {.terms = {5, 3, 0}, .timeout = timeout, .rounds = 2, .fault = fault};
}

constexpr FaultKind kAllKinds[] = {FaultKind::kKill,   FaultKind::kHang,    FaultKind::kCorrupt, FaultKind::kTruncate,
                                   FaultKind::kReplay, FaultKind::kReflect, FaultKind::kWrongKey};

constexpr FrameKind kOfCoordinator[] = {FrameKind::kOffer,    FrameKind::kMembers,  FrameKind::kPlan,
                                        FrameKind::kVerdict,  FrameKind::kBegin,    FrameKind::kKeys,
                                        FrameKind::kDelivery, FrameKind::kUnmask,   FrameKind::kQuorum,
                                        FrameKind::kDone,     FrameKind::kBroadcast};

// Runs one after the other would wait, most of their time, one after the other.
std::vector<SiloRunResult> results_of(const std::vector<SiloRunPlan>& plans) {
  std::vector<std::future<SiloRunResult>> runs;
  for (const SiloRunPlan& plan : plans) {
    runs.push_back(std::async(std::launch::async, [&plan] { return run_silos(plan); }));
  }
  std::vector<SiloRunResult> results;
  for (auto& run : runs) results.push_back(run.get());
  return results;
}

bool ends_the_run(FaultKind of_coordinator) {
  return of_coordinator == FaultKind::kKill || of_coordinator == FaultKind::kHang;
}

class FaultsTest : public testing::TestWithParam<FaultKind> {};

TEST_P(FaultsTest, OfASiloLeaveTheSumOfTheOthers) {
  std::vector<SiloRunPlan> plans;
  for (const FrameKind at : {FrameKind::kHello, FrameKind::kPlan, FrameKind::kStatus, FrameKind::kAdvertise,
                             FrameKind::kShares, FrameKind::kConsent, FrameKind::kMasked, FrameKind::kReveal}) {
    for (const std::uint32_t number : {1U, 2U}) {
      const bool is_sent_once = at == FrameKind::kHello || at == FrameKind::kPlan;
      if (number == 2 && (is_sent_once || GetParam() == FaultKind::kHang)) continue;
      plans.push_back(plan_with({2, GetParam(), at, number}));
    }
  }
  const std::vector<SiloRunResult> results = results_of(plans);
  for (std::size_t run = 0; run < plans.size(); ++run) {
    const SiloRunResult& result = results[run];
    const auto [party, kind, at, number, seconds] = *plans[run].fault;
    SCOPED_TRACE(fmt::format("{}#{}", to_string(at), number));
    if (kind == FaultKind::kHang) {
      EXPECT_THAT(result.refusal, AllOf(HasSubstr("silo 2"),
                                        HasSubstr(fmt::format("alive, but no \"{}\" came within", to_string(at)))));
      EXPECT_TRUE(result.lost.empty());
      EXPECT_TRUE(result.sums.empty());
      EXPECT_EQ(result.silo_refusals.size(), 4U);  // all but the one that hangs
      continue;
    }
    EXPECT_EQ(result.refusal, "");
    ASSERT_EQ(result.sums.size(), 2U);
    EXPECT_TRUE(sums_are_right(result, plans[run]));
    ASSERT_EQ(result.lost.size(), 1U);
    EXPECT_EQ(result.lost[0].silo, 2U);
    EXPECT_EQ(result.lost[0].phase, to_string(at));
    EXPECT_NE(result.lost[0].reason, "");
    // What it had sent before it was lost counts only where all of it had.
    const bool was_summed = at == FrameKind::kReveal || number == 2;
    EXPECT_EQ(result.summed[0].size(), was_summed ? 5U : 4U);
    EXPECT_EQ(result.summed[1].size(), at == FrameKind::kReveal && number == 2 ? 5U : 4U);
  }
}

TEST_P(FaultsTest, OfTheCoordinatorAreRefusedByTheSiloThatMeetsThem) {
  std::vector<SiloRunPlan> plans;
  for (const FrameKind at : kOfCoordinator) {
    plans.push_back(plan_with({0, GetParam(), at, 3}));
    if (!ends_the_run(GetParam())) continue;
    plans.back().timeout = std::chrono::seconds(20);
    plans.back().of_silos = std::chrono::milliseconds(250);  // a busy machine keeps a living silo waiting too
  }
  const auto began = WireClock::now();
  const std::vector<SiloRunResult> results = results_of(plans);
  for (std::size_t run = 0; run < plans.size(); ++run) {
    const SiloRunResult& result = results[run];
    SCOPED_TRACE(std::string(to_string(kOfCoordinator[run])));
    EXPECT_TRUE(sums_are_right(result, plans[run]));
    if (ends_the_run(GetParam())) {
      // Every silo notices: at once where the process is gone, else when it has waited long enough.
      EXPECT_LT(WireClock::now() - began, SiloSession::kPatience * *plans[run].of_silos + std::chrono::seconds(15));
      EXPECT_EQ(result.refusal, "the coordinator was killed");
      EXPECT_EQ(result.silo_refusals.size(), 5U);
      for (const auto& [silo, reason] : result.silo_refusals) {
        EXPECT_THAT(reason, AnyOf(HasSubstr("the coordinator"), Eq("rank 0 failed"), Eq("failed elsewhere"))) << silo;
      }
      continue;
    }
    EXPECT_EQ(result.refusal, "");
    ASSERT_EQ(result.sums.size(), 2U);
    ASSERT_EQ(result.lost.size(), 1U);
    ASSERT_EQ(result.silo_refusals.size(), 1U);
    EXPECT_EQ(result.silo_refusals.begin()->first, result.lost[0].silo);
    EXPECT_NE(result.silo_refusals.begin()->second, "");
  }
}

INSTANTIATE_TEST_SUITE_P(AllKinds, FaultsTest, testing::ValuesIn(kAllKinds));

// How long a silo computes may depend on one person: whoever is left out for being late shows it.
TEST(Faults, ALateSiloThatIsAliveEndsTheRunForAllAndIsNeverLeftOut) {
  SiloRunPlan plan{.terms = {3, 2, 0}, .timeout = std::chrono::milliseconds(3000), .rounds = 2};
  plan.fault = Fault{1, FaultKind::kSlow, FrameKind::kShares, 1, 0.05};
  const SiloRunResult in_time = run_silos(plan);
  EXPECT_EQ(in_time.refusal, "");
  EXPECT_TRUE(in_time.lost.empty());
  EXPECT_TRUE(sums_are_right(in_time, plan));
  std::vector<SiloRunPlan> plans;
  plan.timeout = std::chrono::milliseconds(500);
  for (const FrameKind at : {FrameKind::kStatus, FrameKind::kShares, FrameKind::kMasked}) {
    plan.fault = Fault{1, FaultKind::kSlow, at, 1, 2.0};
    plans.push_back(plan);
  }
  const std::vector<SiloRunResult> results = results_of(plans);
  for (std::size_t run = 0; run < plans.size(); ++run) {
    const SiloRunResult& result = results[run];
    const std::string late =
        fmt::format("alive, but no \"{}\" came within --silo-timeout 0.5 s", to_string(plans[run].fault->at));
    EXPECT_THAT(result.refusal, AllOf(HasSubstr("silo 1"), HasSubstr(late), HasSubstr("Raise --silo-timeout")));
    EXPECT_TRUE(result.lost.empty());
    EXPECT_TRUE(result.sums.empty());
    EXPECT_EQ(result.silo_refusals.size(), 3U);
  }
}

TEST(Faults, ALieIsToldByTheSumThatIsMadeWithoutItAndByTheNameOfItsAuthor) {
  for (const std::uint32_t liar : {1U, 2U, 5U}) {
    const SiloRunPlan plan{
        .terms = {5, 3, 0}, .rounds = 2, .fault = Fault{liar, FaultKind::kLie, FrameKind::kReveal, 1}};
    const SiloRunResult result = run_silos(plan);
    EXPECT_EQ(result.refusal, "");
    ASSERT_EQ(result.sums.size(), 2U);
    EXPECT_TRUE(sums_are_right(result, plan));
    EXPECT_EQ(result.summed[0].size(), 5U);
    EXPECT_EQ(result.summed[1].size(), 4U);
    ASSERT_EQ(result.lost.size(), 1U);
    EXPECT_EQ(result.lost[0].silo, liar);
    EXPECT_THAT(result.lost[0].reason, HasSubstr("it reveals a different share of a secret of silo 1"));
  }
  const SiloRunPlan all{.terms = {3, 3, 0}, .fault = Fault{2, FaultKind::kLie, FrameKind::kReveal, 1}};
  EXPECT_THAT(run_silos(all).refusal, HasSubstr("lost: silo 2 (reveal: it reveals a different share"));
}

// Every silo is told another list, or one another value in the broadcast before: all find out from the others'
// signatures, and nothing is revealed to anybody.
TEST(Faults, ACoordinatorThatTellsContradictoryStoriesIsRefusedByEverySilo) {
  for (const SiloTerms& terms :
       {SiloTerms{5, 3, 0, {}}, SiloTerms{5, 4, 1, {}}, SiloTerms{4, 4, 0, {}}, SiloTerms{33, 23, 0, {}}}) {
    for (const FrameKind at : {FrameKind::kBroadcast, FrameKind::kDelivery, FrameKind::kUnmask}) {
      SCOPED_TRACE(std::to_string(terms.silos) + " silos, at " + std::string(to_string(at)));
      std::map<FrameKind, std::size_t> seen;
      SiloRunPlan plan{.terms = terms, .rounds = 2};
      plan.fault = Fault{0, FaultKind::kEquivocate, at, at == FrameKind::kBroadcast ? 1U : 2U};
      plan.watcher = [&](std::uint32_t, const Message& message) {
        if (const auto header = claimed_header(message.bytes)) ++seen[header->kind];
      };
      const SiloRunResult result = run_silos(plan);
      EXPECT_THAT(result.refusal, HasSubstr(std::to_string(terms.silos) + " silos are left, --threshold"));
      ASSERT_EQ(result.sums.size(), 1U);  // the one before
      EXPECT_TRUE(sums_are_right(result, plan));
      EXPECT_EQ(result.silo_refusals.size(), terms.silos);
      for (const auto& [silo, reason] : result.silo_refusals) {
        EXPECT_THAT(reason, AnyOf(HasSubstr("the silos do not agree on who"), HasSubstr("but 4 must"))) << silo;
      }
      EXPECT_EQ(seen[FrameKind::kReveal], terms.silos);
      EXPECT_EQ(seen[FrameKind::kMasked], (at == FrameKind::kUnmask ? 2 : 1) * terms.silos);
    }
  }
}

// Values and digests go on as they were told: a lie is found out at the next sum, whatever else is told before.
TEST(Faults, ALieInALaterBroadcastLeavesTheSumsBeforeIt) {
  SiloRunPlan plan{
      .terms = {5, 3, 0}, .rounds = 4, .fault = Fault{0, FaultKind::kEquivocate, FrameKind::kBroadcast, 3}};
  SiloRunResult result = run_silos(plan);
  EXPECT_EQ(result.sums.size(), 3U);
  EXPECT_TRUE(sums_are_right(result, plan));
  const std::string differs = " does not match the list that this silo received: the coordinator sends silos different";
  EXPECT_THAT(result.silo_refusals.at(1), HasSubstr("the signature of silo 2" + differs));
  EXPECT_THAT(result.silo_refusals.at(5), HasSubstr("the signature of silo 1" + differs));
  plan.fault->number = 4;  // no sum comes after it
  result = run_silos(plan);
  EXPECT_EQ(result.refusal, "");
  EXPECT_EQ(result.sums.size(), 4U);
  EXPECT_TRUE(sums_are_right(result, plan));
}

TEST(Faults, PartsOfAStatisticAreNotSummed) {
  for (const FaultKind kind : {FaultKind::kKill, FaultKind::kCorrupt}) {
    const SiloRunPlan plan{
        .terms = {4, 3, 0}, .words = 3 * kWordsPerPiece, .fault = Fault{4, kind, FrameKind::kMasked, 2}};
    const SiloRunResult result = run_silos(plan);
    EXPECT_EQ(result.refusal, "");
    ASSERT_EQ(result.summed.size(), 1U);
    EXPECT_EQ(result.summed[0], (std::vector<std::uint32_t>{1, 2, 3}));
    EXPECT_TRUE(sums_are_right(result, plan));
  }
}

TEST(Faults, WithTooFewLeftTheRunEndsAndSaysWhy) {
  for (const FrameKind at : {FrameKind::kHello, FrameKind::kStatus, FrameKind::kAdvertise, FrameKind::kShares,
                             FrameKind::kMasked, FrameKind::kReveal}) {
    const SiloRunPlan plan{.terms = {3, 3, 0},
                           .timeout = std::chrono::seconds(30),
                           .rounds = 2,
                           .fault = Fault{3, FaultKind::kKill, at, 1}};
    const auto began = WireClock::now();
    const SiloRunResult result = run_silos(plan);
    EXPECT_LT(WireClock::now() - began, plan.timeout);
    EXPECT_THAT(result.refusal, HasSubstr("2 of 3 silos are left, --threshold 3"));
    EXPECT_THAT(result.refusal, HasSubstr("silo 3 (" + std::string(to_string(at))));
    EXPECT_TRUE(result.sums.empty());
  }
}

TEST(FaultText, IsReadBack) {
  const Fault fault = parse_fault("2:slow=1.5@shares#4");
  EXPECT_EQ(std::tuple(fault.party, fault.kind, fault.at, fault.number, fault.seconds),
            std::tuple(2U, FaultKind::kSlow, FrameKind::kShares, 4U, 1.5));
  EXPECT_EQ(parse_fault("0:wrong-key@keys").number, 1U);
  EXPECT_EQ(parse_fault("0:equivocate@unmask#3").kind, FaultKind::kEquivocate);
  EXPECT_EQ(parse_fault("0:equivocate@broadcast").at, FrameKind::kBroadcast);
  EXPECT_EQ(parse_fault("0:overrule").kind, FaultKind::kOverrule);
}

TEST(FaultText, WrongFormsAreRefused) {
  EXPECT_THROW(parse_fault(""), UsageError);
  std::istringstream wrong(
      "kill@masked 1:kill 1:kill@ 1:kill@nothing x:kill@masked 1:boom@masked 1:slow@masked 1:slow=-1@masked "
      "1:kill=3@masked 1:lie@masked 0:lie@reveal 1:equivocate@delivery 1:equivocate@broadcast 0:equivocate@keys "
      "0:equivocate=1@unmask 1:kill@masked#0 1:kill@masked#x @:kill 1:overrule 0:overrule@verdict 0:overrule#2");
  for (std::string text; wrong >> text;) EXPECT_THROW(parse_fault(text), UsageError) << text;
}

}  // namespace dpreduce::faults_test
