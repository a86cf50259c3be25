#include "common/accounting/composition.hpp"
#include "common/base/error.hpp"
#include "common/ledger/spending.hpp"
#include "tests/common/accounting/vector_table.hpp"
#include "tests/testing.hpp"

namespace dpreduce::sampled_plan_test {

constexpr std::uint64_t kSensitivity = 1000;
constexpr double kDelta = 1e-5;

ReleaseRequest release(const std::string& name, double share, std::uint64_t rounds = 1, double rate = 1) {
  return {.name = name,
          .share = share,
          .rounds = rounds,
          .blocks = {{"sum", 10, 1}},
          .profiles = {{"one row more or less", {kSensitivity * kSensitivity}}},
          .sampling_rate = rate};
}

NoisePlan plan_of(double epsilon, std::vector<ReleaseRequest> releases, Accountant accountant = Accountant::kRdp) {
  return make_sampled_noise_plan({{.epsilon = epsilon, .delta = kDelta}, accountant}, Adjacency::kAddRemove,
                                 std::move(releases));
}

double noise_multiplier(const NoisePlan& plan, const std::string& name) {
  return plan.release(name).block("sum").sigma / kSensitivity;
}

TEST(SampledPlan, RoundsAloneHaveTheNoiseOfTheirCalibration) {
  for (const Accountant accountant : {Accountant::kRdp, Accountant::kPld}) {
    const NoisePlan plan = plan_of(2, {release("gradient", 1, 100, 0.1)}, accountant);
    const double z = calibrated_noise_multiplier({2, kDelta, 100, 0.1}, accountant);
    EXPECT_GE(noise_multiplier(plan, "gradient"), z);
    expect_relative(noise_multiplier(plan, "gradient"), z, 3e-7);
    EXPECT_EQ(plan.mu, 0);
    EXPECT_LE(epsilon_of(spending_of(plan), kDelta), 2);
  }
}

// Epsilons of a reference implementation, whose grid rounds up by about T 1e-5 in all.
TEST(SampledPlan, NoiseAgreesWithTheTable) {
  int compared = 0;
  for (const VectorRow& row : read_vectors("subsampled_gaussian.csv")) {
    const double rate = row.number("q");
    const double z = row.number("noise_multiplier_z");
    const double epsilon = row.number("eps_pld_dp_accounting");
    if (rate == 1 || row.number("T") != 100 || epsilon > 10) continue;
    const NoisePlan plan = plan_of(epsilon, {release("gradient", 1, 100, rate)}, Accountant::kPld);
    expect_relative(noise_multiplier(plan, "gradient"), z, 2e-3);
    ++compared;
  }
  EXPECT_GE(compared, 5);
}

TEST(SampledPlan, ReleasesOfAllRowsKeepTheirShares) {
  const NoisePlan plan = plan_of(2, {release("first", 0.1), release("gradient", 0.8, 50, 0.2), release("second", 0.1)});
  ASSERT_EQ(plan.releases.size(), 3U);
  EXPECT_EQ(plan.releases[1].name, "gradient");
  EXPECT_EQ(plan.releases[1].sampling_rate, 0.2);
  EXPECT_EQ(plan.releases[1].rounds, 50U);
  const double mu = mu_of(BudgetOptions{{.epsilon = 2, .delta = kDelta}, Accountant::kRdp});
  expect_relative(plan.budget_mu, mu, 1e-15);
  expect_relative(plan.mu * plan.mu, 0.2 * mu * mu, 1e-9);
  expect_relative(plan.release("first").mu, plan.release("second").mu, 1e-9);
  EXPECT_LE(epsilon_of(spending_of(plan), kDelta), 2);
  // What stands beside the rounds costs them noise.
  EXPECT_GT(noise_multiplier(plan, "gradient"), calibrated_noise_multiplier({2, kDelta, 50, 0.2}, Accountant::kRdp));
}

TEST(SampledPlan, TheWholeBudgetIsUsedByTheDistributionOfItsLosses) {
  const NoisePlan plan = plan_of(1, {release("center", 0.02), release("gradient", 0.98, 400, 0.1)}, Accountant::kPld);
  const double epsilon = epsilon_of(spending_of(plan), kDelta);
  EXPECT_LE(epsilon, 1);
  EXPECT_GE(epsilon, 1 - 1e-4);
}

TEST(SampledPlan, SmallerSamplesNeedLessNoiseAndNearlyFullOnesTheNoiseOfAllRows) {
  double last = 0;
  for (const double rate : {0.01, 0.1, 0.5, 0.999}) {
    const double z = noise_multiplier(plan_of(2, {release("gradient", 1, 40, rate)}), "gradient");
    EXPECT_GT(z, last);
    last = z;
  }
  expect_relative(last, calibrated_noise_multiplier({2, kDelta, 40}, Accountant::kRdp), 0.01);
}

// The profile of an exchange is that of one record, doubled; noise is between that of one record and that of a group of
// two, and the whole budget is used.
TEST(SampledPlan, ExchangesHaveTheNoiseOfTheirOwnPair) {
  const auto noise = [](Adjacency adjacency) {
    ReleaseRequest request = release("gradient", 1, 40, 0.1);
    if (adjacency == Adjacency::kReplaceOne) request.profiles = {{"another row", {4 * kSensitivity * kSensitivity}}};
    const NoisePlan plan =
        make_sampled_noise_plan({{.epsilon = 1, .delta = kDelta}, Accountant::kPld}, adjacency, {request});
    const double epsilon = epsilon_of(spending_of(plan), kDelta);
    EXPECT_LE(epsilon, 1);
    EXPECT_GE(epsilon, 1 - 1e-4);
    return noise_multiplier(plan, "gradient");
  };
  const double one = noise(Adjacency::kAddRemove);
  const double exchange = noise(Adjacency::kReplaceOne);
  EXPECT_GT(exchange, 1.1 * one);
  EXPECT_LT(exchange, 2 * one);
  const double z = calibrated_noise_multiplier({1, kDelta, 40, 0.1, {}, true}, Accountant::kPld);
  expect_relative(exchange, z, 3e-7);
}

TEST(SampledPlan, WhatLedgersCountDoesNotDependOnHowManyRoundsAreOnFile) {
  const NoisePlan plan = plan_of(1, {release("center", 0.02), release("gradient", 0.98, 40, 0.1)});
  const Spending whole = spending_of(plan);
  const double mu = mu_of_rounds(plan.release("gradient"), 1);
  const auto rounds = [&](std::uint64_t count) {
    return sampled_rounds(mu, 0.1, count, Adjacency::kAddRemove, Adjacency::kAddRemove);
  };
  for (const std::uint64_t on_file : {1U, 17U, 39U}) {
    Spending spent{.mu = plan.mu, .selections = {}};
    spent.samples.assign(on_file, rounds(1));
    const Spending rest{.mu = 0, .selections = {}, .samples = {rounds(40 - on_file)}};
    EXPECT_EQ(epsilon_of(composed(spent, rest), kDelta), epsilon_of(whole, kDelta));
  }
}

TEST(SampledPlan, WhatNoAccountantCoversIsRefused) {
  const std::vector<ReleaseRequest> sampled{release("gradient", 1, 10, 0.1)};
  const GivenBudget budget{.epsilon = 1, .delta = kDelta};
  const Adjacency add_remove = Adjacency::kAddRemove;
  const auto make = [&](const GivenBudget& stated, Accountant accountant, const std::vector<ReleaseRequest>& releases,
                        Adjacency adjacency = Adjacency::kAddRemove) {
    make_sampled_noise_plan({stated, accountant}, adjacency, releases);
  };
  EXPECT_THROW(make(budget, Accountant::kRdp, sampled, Adjacency::kReplaceOne), std::logic_error);
  EXPECT_THROW(make({.mu = 1}, Accountant::kPld, sampled), std::logic_error);
  for (const Accountant other : {Accountant::kGdp, Accountant::kZcdp}) {
    EXPECT_THROW(make(budget, other, sampled), std::logic_error);
  }
  const std::vector<ReleaseRequest> two{release("a", 1, 10, 0.1), release("b", 1, 10, 0.1)};
  EXPECT_THROW(make(budget, Accountant::kPld, two), std::logic_error);
  EXPECT_THROW(make(budget, Accountant::kPld, {release("gradient", 1, 10)}), std::logic_error);
  EXPECT_THROW(make(budget, Accountant::kRdp, {release("gradient", -1, 10, 0.1)}), std::logic_error);
  expect_refusal<UsageError>([&] { make(budget, Accountant::kRdp, {release("gradient", 1, 10, 0)}); },
                             {"sampling rate = 0"});
  EXPECT_THROW(make_noise_plan(1, add_remove, sampled), std::logic_error);
}

}  // namespace dpreduce::sampled_plan_test
