// Nobody masks beside a party whose noise is not that which this silo counts on.
#include "common/base/error.hpp"
#include "common/silos/handshake.hpp"
#include "tests/common/silos/one_honest_silo.hpp"
#include "tests/testing.hpp"

namespace dpreduce::plan_agreement_test {

using testing::UnorderedElementsAre;

const PublicKey kOther = sha256("a plan with less noise");

// A run of so many silos, of which these have another plan; and which of them sent something masked.
struct PlannedRun {
  PlannedRun(const SiloTerms& terms, const std::vector<std::uint32_t>& with_other_plan) : plan{.terms = terms} {
    for (const std::uint32_t party : with_other_plan) plan.other_plans[party] = kOther;
    plan.watcher = [this](std::uint32_t, const Message& message) {
      const auto header = claimed_header(message.bytes);
      if (header && header->kind == FrameKind::kMasked) masked.insert(header->sender);
    };
    result = run_silos(plan);
  }

  SiloRunPlan plan;
  std::set<std::uint32_t> masked;
  SiloRunResult result;
};

TEST(PlanAgreement, ASiloWithAnotherPlanIsLostAndMasksNothing) {
  const PlannedRun run({4, 3, 0}, {2});
  EXPECT_EQ(run.result.refusal, "");
  EXPECT_TRUE(sums_are_right(run.result, run.plan));
  EXPECT_THAT(run.masked, UnorderedElementsAre(1, 3, 4));
  ASSERT_EQ(run.result.lost.size(), 1U);
  EXPECT_EQ(run.result.lost[0].silo, 2U);
  EXPECT_EQ(run.result.lost[0].phase, "plan");
  EXPECT_THAT(run.result.lost[0].reason, AllOf(HasSubstr("it adds different noise"), HasSubstr(short_hex(kOther))));
  ASSERT_EQ(run.result.silo_refusals.size(), 1U);
  EXPECT_THAT(run.result.silo_refusals.at(2),
              AllOf(HasSubstr("the run goes on without silo 2"), HasSubstr("adds different noise")));
}

TEST(PlanAgreement, WithTooFewThatHaveThePlanNothingIsSummed) {
  const PlannedRun run({3, 3, 0}, {2, 3});
  EXPECT_THAT(run.result.refusal, HasSubstr("1 of 3 silos are left, --threshold 3 are needed"));
  EXPECT_TRUE(run.masked.empty());
}

TEST(PlanAgreement, ACoordinatorWithAnotherPlanIsRefusedByAll) {
  const PlannedRun run({3, 2, 0}, {0});
  EXPECT_THAT(run.result.refusal, HasSubstr("0 of 3 silos are left"));
  EXPECT_TRUE(run.masked.empty());
  EXPECT_EQ(run.result.silo_refusals.size(), 3U);
}

TEST(PlanAgreement, ASignatureIsOfOneRunPartyAndPlan) {
  const Identity identity = Identity::generate();
  const RunId run = sha256("a run");
  const auto refusal = [&](const PublicKey& signer, const RunId& of_run, std::uint32_t party, const PublicKey& plan,
                           bool is_changed = false) {
    std::vector<std::byte> bytes = make_signed_plan(identity, run, 2, kOther);
    if (is_changed) bytes.front() ^= std::byte{1};
    PayloadReader reader(bytes);
    return dpreduce::refusal<AggregationAborted>(
        [&] { take_signed_plan(reader, signer, of_run, party, plan, "silo 2"); });
  };
  const PublicKey own = identity.public_key();
  EXPECT_EQ(refusal(own, run, 2, kOther), "");
  EXPECT_THAT(refusal(own, run, 2, sha256("this plan")), HasSubstr("adds different noise than this party"));
  EXPECT_THAT(refusal(Identity::generate().public_key(), run, 2, kOther), HasSubstr("not signed by it"));
  EXPECT_THAT(refusal(own, sha256("another run"), 2, kOther), HasSubstr("not signed by it"));
  EXPECT_THAT(refusal(own, run, 3, kOther), HasSubstr("not signed by it"));
  EXPECT_THAT(refusal(own, run, 2, kOther, true), HasSubstr("not signed by it"));
}

// What silo 1, which has the plan of zeros, says where it is shown these plans, of the coordinator and of silos, and is
// then asked to sum with all.
std::string refusal_of(std::uint32_t threshold, const PublicKey& of_coordinator,
                       const std::vector<std::pair<std::uint32_t, PublicKey>>& others) {
  OneHonestSilo silo(threshold);
  silo.name_members(silo.begin(true));
  silo.show_plans(of_coordinator, others);
  silo.sum_with(1, {2, 3});
  return silo.refusal();
}

TEST(PlanAgreement, ASiloComparesAllThatItIsShownItself) {
  const PublicKey same{};
  EXPECT_EQ(refusal_of(2, same, {{2, same}, {3, same}}), "the coordinator is gone");  // it would have summed
  EXPECT_THAT(refusal_of(2, kOther, {{2, same}, {3, same}}), HasSubstr("the coordinator adds different noise"));
  EXPECT_THAT(refusal_of(2, same, {{2, same}, {3, kOther}}), HasSubstr("silo 3 adds different noise"));
  EXPECT_THAT(refusal_of(3, same, {{2, same}}), HasSubstr("does not show the noise plans of silos"));
  EXPECT_THAT(refusal_of(2, same, {{3, same}, {2, same}}), HasSubstr("does not show the noise plans of silos"));
}

// A silo that has not shown its plan has no part in later sums: its share of the noise may be none.
TEST(PlanAgreement, WhoHasNotShownItsPlanIsNotSummed) {
  EXPECT_THAT(refusal_of(2, {}, {{2, {}}}), HasSubstr("names a silo that is not, or no longer, part of this run"));
}

}  // namespace dpreduce::plan_agreement_test
