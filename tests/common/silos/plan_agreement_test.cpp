// Nobody masks beside a party whose noise is not that which this silo counts on.
#include <future>

#include "common/base/error.hpp"
#include "common/silos/handshake.hpp"
#include "tests/common/silos/memory_wire.hpp"
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

// Silo 1 of three, which has the plan of zeros; coordinator and other silos are in the test's hands.
class LiedToSilo {
 public:
  explicit LiedToSilo(std::uint32_t threshold) : terms_{3, threshold, 0}, queues_(4), wire_(queues_, 0) {
    for (std::uint32_t party = 0; party < 4; ++party) identities_.push_back(Identity::generate());
    refusal_ = std::async(std::launch::async, [this] { return sum_once(); });
    const Offer offer{{}, terms_, {}, identities_[0].public_key(), key_.public_key(), {}};
    wire_.send(1, make_offer(offer, identities_[0], 1));
    const Hello own = open_hello(next(), offer, 1, std::nullopt);
    channel_.emplace(key_.agree(own.key), offer.run, 0, 1);
    PayloadWriter members;
    members.numbers(std::vector<std::uint32_t>{1, 2, 3}).plain(own);
    for (std::uint32_t silo = 2; silo <= 3; ++silo) {
      const Hello other{identities_[silo].public_key(), AgreementKey::generate().public_key(), {}};
      const Hello said = open_hello(make_hello(other, identities_[silo], offer, silo), offer, silo, std::nullopt);
      members.plain(said);
    }
    const std::vector<std::byte> payload = members.take();
    run_ = run_of(offer, payload);
    wire_.send(1, channel_->seal(FrameKind::kMembers, 0, payload));
    own_plan_ = channel_->open(1, next()).payload;
  }
  ~LiedToSilo() { queues_.post(1, {0, {}, true}); }

  // What it says where it is shown these plans, of the coordinator and of silos, and is then asked to sum with all.
  std::string refusal(const PublicKey& of_coordinator, const std::vector<std::pair<std::uint32_t, PublicKey>>& others) {
    std::vector<std::uint32_t> present{1};
    for (const auto& other : others) present.push_back(other.first);
    PayloadWriter plans;
    plans.numbers(present).bytes(make_signed_plan(identities_[0], run_, 0, of_coordinator)).bytes(own_plan_);
    for (const auto& [silo, plan] : others) plans.bytes(make_signed_plan(identities_[silo], run_, silo, plan));
    wire_.send(1, channel_->seal(FrameKind::kPlan, 1, plans.take()));
    wire_.send(1, channel_->seal(FrameKind::kBegin, 2, PayloadWriter().u32(1).u64(kWords).take()));
    PayloadWriter keys;
    keys.u32(1).numbers(std::vector<std::uint32_t>{1, 2, 3});
    const SumAttempt attempt{run_, 2, 1, kWords, terms_.threshold, 0};
    for (std::uint32_t silo = 2; silo <= 3; ++silo) {
      Advertisement advertisement{AgreementKey::generate().public_key(), {}, {}};
      advertisement.signature = identities_[silo].sign(signed_part(attempt, silo, advertisement));
      keys.plain(advertisement);
    }
    wire_.send(1, channel_->seal(FrameKind::kKeys, 2, keys.take()));
    queues_.post(1, {0, {}, true});
    return refusal_.get();
  }

 private:
  static constexpr std::size_t kWords = 10;

  std::string sum_once() {
    MemoryWire wire(queues_, 1);
    try {
      SiloSession session(wire, 1, simulated_entry({.terms = terms_, .timeout = std::chrono::milliseconds(20000)}));
      session.connect();
      session.agree_on_plan({});
      session.sum(std::vector<std::uint64_t>(kWords, 1));
    } catch (const PeerFailed&) {
      return "the coordinator is gone";
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  std::vector<std::byte> next() { return wire_.receive(WireClock::now() + std::chrono::seconds(20)).value().bytes; }

  SiloTerms terms_;
  MessageQueues queues_;
  MemoryWire wire_;
  std::vector<Identity> identities_;
  AgreementKey key_ = AgreementKey::generate();
  RunId run_{};
  std::optional<Channel> channel_;
  std::vector<std::byte> own_plan_;
  std::future<std::string> refusal_;
};

TEST(PlanAgreement, ASiloComparesAllThatItIsShownItself) {
  const PublicKey same{};
  EXPECT_EQ(LiedToSilo(2).refusal(same, {{2, same}, {3, same}}), "the coordinator is gone");  // it would have summed
  EXPECT_THAT(LiedToSilo(2).refusal(kOther, {{2, same}, {3, same}}), HasSubstr("the coordinator adds different noise"));
  EXPECT_THAT(LiedToSilo(2).refusal(same, {{2, same}, {3, kOther}}), HasSubstr("silo 3 adds different noise"));
  EXPECT_THAT(LiedToSilo(3).refusal(same, {{2, same}}), HasSubstr("does not show the noise plans of silos"));
  EXPECT_THAT(LiedToSilo(2).refusal(same, {{3, same}, {2, same}}), HasSubstr("does not show the noise plans of silos"));
}

// A silo that has not shown its plan has no part in later sums: its share of the noise may be none.
TEST(PlanAgreement, WhoHasNotShownItsPlanIsNotSummed) {
  EXPECT_THAT(LiedToSilo(2).refusal({}, {{2, {}}}),
              HasSubstr("names a silo that is not, or no longer, part of this run"));
}

}  // namespace dpreduce::plan_agreement_test
