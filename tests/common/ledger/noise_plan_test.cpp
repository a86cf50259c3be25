#include "common/ledger/noise_plan.hpp"

#include <boost/multiprecision/cpp_int.hpp>

#include "common/accounting/gaussian_dp.hpp"
#include "common/base/error.hpp"
#include "common/ledger/triangle.hpp"
#include "tests/common/accounting/vector_table.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::noise_plan_test {

using Rational = boost::multiprecision::cpp_rational;

constexpr std::uint64_t kS = 32767;
constexpr std::uint64_t kSquaredS = kS * kS;

NoisePlan plan_of_one(double mu, Adjacency adjacency, const std::string& name, std::vector<BlockRequest> blocks,
                      std::vector<SensitivityProfile> profiles) {
  return make_noise_plan(mu, adjacency,
                         {{.name = name, .share = 1, .blocks = std::move(blocks), .profiles = std::move(profiles)}});
}

// sum_r rounds_r max_p sum_b D_pb^2 / s_b^2 in exact arithmetic: doubles are fractions.
Rational exact_squared_mu(const NoisePlan& plan) {
  Rational total = 0;
  for (const PlannedRelease& release : plan.releases) {
    Rational worst = 0;
    for (const SensitivityProfile& profile : release.profiles) {
      Rational cost = 0;
      for (std::size_t block = 0; block < release.blocks.size(); ++block) {
        const Rational sigma(release.blocks[block].sigma);
        cost += Rational(profile.squared_l2[block]) / (sigma * sigma);
      }
      worst = std::max(worst, cost);
    }
    total += worst * release.rounds;
  }
  return total;
}

void expect_within_budget_and_near(const NoisePlan& plan) {
  const Rational budget = Rational(plan.budget_mu) * Rational(plan.budget_mu);
  const Rational spent = exact_squared_mu(plan);
  EXPECT_LE(spent, budget);
  EXPECT_GE(spent, budget * Rational(1 - 1e-14));
  EXPECT_LE(spent, Rational(plan.mu) * Rational(plan.mu));
  EXPECT_LE(plan.mu, plan.budget_mu);
}

NoisePlan sums_and_counts(double mu, double sum_weight, double count_weight, Adjacency adjacency) {
  std::vector<SensitivityProfile> profiles;
  if (adjacency == Adjacency::kAddRemove) {
    profiles = {{"add-remove", {kSquaredS, 1}}};
  } else {
    profiles = {{"same class", {4 * kSquaredS, 0}}, {"other class", {2 * kSquaredS, 2}}};
  }
  return plan_of_one(mu, adjacency, "means", {{"sum", 7680, sum_weight}, {"count", 10, count_weight}}, profiles);
}

// A release of one block, which a row moves so far.
ReleaseRequest gradient(const std::string& name, double share, std::uint64_t rounds, std::uint64_t squared_l2) {
  return {.name = name,
          .share = share,
          .rounds = rounds,
          .blocks = {{"gradient", 30, 1.0}},
          .profiles = {{"add-remove", {squared_l2}}}};
}

TEST(NoisePlan, JointSplitAgreesWithTheTable) {
  for_each_row("joint_block_split.csv", [](const VectorRow& row) {
    const bool means = row.text("case").starts_with("means");
    const std::vector<BlockRequest> blocks = means
                                                 ? std::vector<BlockRequest>{{"sum", 768, 768}, {"count", 1, 1}}
                                                 : std::vector<BlockRequest>{{"G", 589824, 589824}, {"b", 7680, 7680}};
    const double mu = gdp_mu(row.number("epsilon"), row.number("delta"));
    expect_relative(mu, row.number("mu"), 1e-11);
    const NoisePlan plan = plan_of_one(mu, Adjacency::kAddRemove, "joint", blocks, {{"add-remove", {1, 1}}});
    expect_within_budget_and_near(plan);

    const PlannedBlock& block = plan.release("joint").block(row.text("block"));
    expect_relative(block.sigma, row.number("optimal_sd"), 1e-10);
    expect_relative(block.sigma * block.sigma, row.number("optimal_variance"), 1e-10);
    expect_relative(block.mu * block.mu / (mu * mu), row.number("share_of_mu2"), 1e-10);
    double shares = 0;
    for (const PlannedBlock& each : plan.releases[0].blocks) shares += each.mu * each.mu / (mu * mu);
    EXPECT_NEAR(shares, 1, 1e-12);
  });
}

TEST(NoisePlan, OneBlockGetsSensitivityOverMuWhoseSquareIsExact) {
  const NoisePlan plan =
      plan_of_one(0.25, Adjacency::kAddRemove, "sums", {{"sum", 30, 5.0}}, {{"add-remove", {kSquaredS}}});
  const PlannedBlock& block = plan.release("sums").block("sum");
  EXPECT_EQ(block.elements, 30u);
  EXPECT_EQ(block.squared_sensitivity, kSquaredS);
  EXPECT_EQ(block.sensitivity, kS);
  expect_relative(block.sigma, kS / 0.25, 4e-15);
  EXPECT_GT(block.sigma, kS / 0.25);
  expect_within_budget_and_near(plan);
  const std::uint64_t squared_gram = 4 * kSquaredS * kSquaredS;  // replace-one without the finer bound: below 2^62
  const NoisePlan largest =
      plan_of_one(0.5, Adjacency::kReplaceOne, "gram", {{"gram", 100, 100}}, {{"any", {squared_gram}}});
  EXPECT_EQ(largest.release("gram").block("gram").squared_sensitivity, squared_gram);
  EXPECT_EQ(largest.release("gram").block("gram").sensitivity, 2.0 * kSquaredS);
  expect_within_budget_and_near(largest);
}

TEST(NoisePlan, RoundsChargedOneByOneStayWithinTheBudget) {
  for (const std::uint64_t rounds : {1u, 3u, 7u, 10u, 100u}) {
    for (const double mu : {1.0, 0.5, 0.1, 0.3, 1.7}) {
      const ReleaseRequest first = gradient("gram", 0.2, 1, kSquaredS);
      const ReleaseRequest request = gradient("gradient", 0.8, rounds, kSquaredS);
      const NoisePlan plan = make_noise_plan(mu, Adjacency::kAddRemove, {first, request});
      std::vector<double> charges{plan.releases[0].mu};
      for (std::uint64_t round = 0; round < rounds; ++round) {
        charges.push_back(realized_mu(std::vector<double>{plan.releases[1].blocks[0].sigma}, request.profiles));
      }
      EXPECT_LE(gdp_compose(charges), mu) << rounds << " rounds, mu " << mu;
    }
  }
}

TEST(NoisePlan, ASymmetricBlockIsATriangleOrSeveralOfOneSize) {
  const auto plan_of = [](std::uint64_t elements, std::uint64_t triangles) {
    return plan_of_one(1.0, Adjacency::kAddRemove, "hessians",
                       {{"hessians", elements, 1.0, BlockNoise::kSymmetric, triangles}}, {{"add-remove", {kSquaredS}}});
  };
  EXPECT_EQ(plan_of(12, 2).releases[0].blocks[0].triangles, 2u);
  EXPECT_NO_THROW(plan_of(6, 1));
  for (const auto& [elements, triangles] :
       {std::pair{7u, 1u}, std::pair{12u, 1u}, std::pair{12u, 0u}, std::pair{13u, 2u}, std::pair{14u, 2u}}) {
    EXPECT_THROW(plan_of(elements, triangles), std::logic_error) << elements << " " << triangles;
  }
}

TEST(Triangle, RowsFollowOneAnother) {
  for (const std::uint64_t order : {1u, 2u, 5u, 1665u}) {
    std::uint64_t position = 0;
    for (std::uint64_t i = 0; i < order; ++i) {
      EXPECT_EQ(triangle_row(i, order), position);
      position += order - i;
    }
    EXPECT_EQ(position, triangle_elements(order));
    EXPECT_EQ(triangle_order(position), order);
  }
  for (const std::uint64_t elements : {0u, 2u, 4u, 5u, 7u}) EXPECT_FALSE(triangle_order(elements).has_value());
}

// Replacing a record moves either a sum by 2S and no count, or two sums and two counts: as long as the count matters
// less than the sum, it uses what the second kind of change leaves over, and the sum's noise is as without it.
TEST(NoisePlan, TheCountIsFreeUnderReplaceOneAtSmallWeight) {
  const double mu = 0.3;
  for (const double count_weight : {1e-6, 1.0, 100.0, 0.999 * 768 * kSquaredS}) {
    SCOPED_TRACE(count_weight);
    const NoisePlan plan = sums_and_counts(mu, 768, count_weight, Adjacency::kReplaceOne);
    expect_relative(plan.release("means").block("sum").sigma, 2 * kS / mu, 1e-12);
    expect_relative(plan.release("means").block("count").sigma, 2 / mu, 1e-12);
    EXPECT_EQ(plan.release("means").block("sum").squared_sensitivity, 4 * kSquaredS);
    EXPECT_EQ(plan.release("means").block("count").squared_sensitivity, 2u);
    expect_within_budget_and_near(plan);
  }
}

// Beyond that weight only the second kind of change binds, and the split is that of a single profile.
TEST(NoisePlan, AHeavyCountTakesFromTheSumUnderReplaceOne) {
  const double mu = 0.3;
  const double sum_weight = 2;
  const double count_weight = 50.0 * kSquaredS;
  const NoisePlan plan = sums_and_counts(mu, sum_weight, count_weight, Adjacency::kReplaceOne);
  const double sum_term = std::sqrt(2 * sum_weight) * kS;
  const double count_term = std::sqrt(2 * count_weight);
  const double total = (sum_term + count_term) / (mu * mu);
  const PlannedRelease& means = plan.release("means");
  expect_relative(means.block("sum").sigma, std::sqrt(std::sqrt(2.0) * kS / std::sqrt(sum_weight) * total), 1e-12);
  expect_relative(means.block("count").sigma, std::sqrt(std::sqrt(2.0) / std::sqrt(count_weight) * total), 1e-12);
  expect_within_budget_and_near(plan);
}

// Two blocks, up to five kinds of change: the optimum lies on the boundary, x_2 = min_p (mu^2 - D_p1^2 x_1) / D_p2^2,
// and a fine grid of x_1 must not find a smaller loss.
TEST(NoisePlan, NoGridPointBeatsTheSplitForSeveralProfiles) {
  std::mt19937 random(20240607);
  std::uniform_int_distribution<std::uint64_t> squared(1, 1000);
  std::uniform_real_distribution<double> log_weight(-5, 5);
  for (int trial = 0; trial < 60; ++trial) {
    const double mu = 0.7;
    std::vector<SensitivityProfile> profiles;
    for (int profile = 0; profile < 1 + trial % 5; ++profile) {
      profiles.push_back({"kind", {squared(random), squared(random)}});
    }
    const double weights[] = {std::exp(log_weight(random)), std::exp(log_weight(random))};
    const NoisePlan plan =
        plan_of_one(mu, Adjacency::kReplaceOne, "r", {{"one", 1, weights[0]}, {"two", 1, weights[1]}}, profiles);
    expect_within_budget_and_near(plan);
    const auto loss = [&](double x_1, double x_2) { return weights[0] / x_1 + weights[1] / x_2; };
    const double sigma_1 = plan.releases[0].block("one").sigma;
    const double sigma_2 = plan.releases[0].block("two").sigma;
    const double planned = loss(1 / (sigma_1 * sigma_1), 1 / (sigma_2 * sigma_2));
    double best = std::numeric_limits<double>::infinity();
    for (int step = 1; step < 20000; ++step) {
      const double x_1 = mu * mu * step / 20000;
      double x_2 = std::numeric_limits<double>::infinity();
      for (const SensitivityProfile& profile : profiles) {
        x_2 = std::min(x_2, (mu * mu - static_cast<double>(profile.squared_l2[0]) * x_1) /
                                static_cast<double>(profile.squared_l2[1]));
      }
      if (x_2 > 0) best = std::min(best, loss(x_1, x_2));
    }
    EXPECT_LE(planned, best * (1 + 1e-12)) << "trial " << trial;
  }
}

// Three kinds of change and three blocks, each block moved by one kind only: every block gets all of mu^2.
TEST(NoisePlan, ChangesOfDifferentBlocksDoNotShareTheBudget) {
  const NoisePlan plan = plan_of_one(0.5, Adjacency::kReplaceOne, "r", {{"a", 1, 1.0}, {"b", 1, 1e6}, {"c", 1, 1e-6}},
                                     {{"first", {9, 0, 0}}, {"second", {0, 16, 0}}, {"third", {0, 0, 25}}});
  expect_relative(plan.releases[0].block("a").sigma, 6, 1e-11);
  expect_relative(plan.releases[0].block("b").sigma, 8, 1e-11);
  expect_relative(plan.releases[0].block("c").sigma, 10, 1e-11);
  expect_within_budget_and_near(plan);
}

TEST(NoisePlan, StagesAddUpInSquaredMuByTheirShares) {
  const double mu = 0.4;
  const NoisePlan plan =
      make_noise_plan(mu, Adjacency::kAddRemove,
                      {gradient("center", 0.1, 1, kSquaredS), gradient("class sums", 0.2, 1, kSquaredS),
                       gradient("gradients", 0.7, 25, 2 * kSquaredS)});
  expect_within_budget_and_near(plan);
  expect_relative(plan.release("center").mu, mu * std::sqrt(0.1), 1e-13);
  expect_relative(plan.release("class sums").mu, mu * std::sqrt(0.2), 1e-13);
  expect_relative(plan.release("gradients").mu, mu * std::sqrt(0.7), 1e-13);
  expect_relative(plan.release("gradients").block("gradient").sigma, std::sqrt(2.0 * kSquaredS * 25 / 0.7) / mu, 1e-13);
  expect_relative(plan.release("gradients").block("gradient").mu, mu * std::sqrt(0.7 / 25), 1e-13);
}

TEST(NoisePlan, ManyBudgetsStayWithinExactly) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> log_mu(-6, 4);
  for (int trial = 0; trial < 100; ++trial) {
    const Adjacency adjacency = trial % 2 ? Adjacency::kAddRemove : Adjacency::kReplaceOne;
    expect_within_budget_and_near(sums_and_counts(std::exp(log_mu(random)), 768, 1, adjacency));
  }
}

TEST(NoisePlan, RealizedMuIsTheWorstProfileRoundedUp) {
  const std::vector<double> sigmas{2, 4};
  EXPECT_NEAR(realized_mu(sigmas, {{"a", {4, 16}}}), std::sqrt(2.0), 1e-15);
  EXPECT_NEAR(realized_mu(sigmas, {{"a", {4, 16}}, {"b", {36, 0}}}), 3, 1e-14);
  EXPECT_NEAR(realized_mu(sigmas, {{"a", {4, 16}}}, 8), 4, 1e-14);
  EXPECT_GE(realized_mu(sigmas, {{"b", {36, 0}}}), 3);
  EXPECT_THROW(realized_mu(std::vector<double>{2, 0}, {{"a", {4, 16}}}), UsageError);
  EXPECT_THROW(realized_mu(std::vector<double>{2, kNan}, {{"a", {4, 16}}}), UsageError);
  EXPECT_THROW(realized_mu(std::vector<double>{2}, {{"a", {4, 16}}}), std::logic_error);
}

// Uneven squares: not a unit in the last place below what a person's rows can move.
TEST(NoisePlan, SensitivitiesAndMusAreRoundedUp) {
  const auto is_just_enough = [](double rounded, const Rational& squared) {
    const Rational below(std::nextafter(std::nextafter(rounded, 0.0), 0.0));
    return Rational(rounded) * Rational(rounded) >= squared && below * below < squared;
  };
  for (const std::uint64_t squared : {2ULL, 7ULL, 1000003ULL, 123456789ULL, kSquaredS + 12345ULL}) {
    for (const std::uint64_t rows : {1ULL, 3ULL}) {
      ReleaseRequest request = gradient("gradient", 1, 5, squared);
      request.rows_per_unit = rows;
      const PlannedRelease release = make_noise_plan(0.37, Adjacency::kAddRemove, {request}).releases.front();
      const PlannedBlock& block = release.blocks.front();
      const Rational moved = Rational(rows * rows) * squared;
      const Rational variance = Rational(block.sigma) * Rational(block.sigma);
      EXPECT_TRUE(is_just_enough(block.sensitivity, moved)) << squared << " " << rows;
      EXPECT_TRUE(is_just_enough(block.mu, moved / variance)) << squared << " " << rows;
      EXPECT_TRUE(is_just_enough(release.mu, 5 * moved / variance)) << squared << " " << rows;
      EXPECT_TRUE(is_just_enough(mu_of_rounds(release, 1), moved / variance)) << squared << " " << rows;
    }
  }
}

TEST(NoisePlan, OffDiagonalNoiseHasAtLeastHalfTheVariance) {
  for (const double sigma : {1.0, 3.7, 32767.0 * 32767.0 / 0.27}) {
    const Rational off(off_diagonal_sigma(sigma));
    EXPECT_GE(2 * off * off, Rational(sigma) * Rational(sigma));
    expect_relative(off_diagonal_sigma(sigma), sigma / std::sqrt(2.0), 1e-15);
  }
  EXPECT_THROW(off_diagonal_sigma(0), UsageError);
  EXPECT_THROW(off_diagonal_sigma(kNan), UsageError);
}

std::vector<ReleaseRequest> good_requests() {
  return {{.name = "means",
           .share = 1,
           .blocks = {{"sum", 7680, 7680}, {"count", 10, 1}},
           .profiles = {{"add-remove", {kSquaredS, 1}}}}};
}

TEST(NoisePlan, RefusesABudgetThatNoNoiseFitsAndNamesThatItDoesNotHave) {
  const auto plan_with = [](double mu) { make_noise_plan(mu, Adjacency::kAddRemove, good_requests()); };
  expect_refusals<UsageError>({{[&] { plan_with(0); }, "mu = 0:"},
                               {[&] { plan_with(kNan); }, "mu = nan:"},
                               {[&] { plan_with(1e-15); }, "block sum: the budget is too small"}});
  const NoisePlan plan = sums_and_counts(0.3, 768, 1, Adjacency::kAddRemove);
  EXPECT_THROW(plan.release("gram"), std::logic_error);
  EXPECT_THROW(plan.release("means").block("gram"), std::logic_error);
}

TEST(NoisePlan, RequestsThatCannotBeAreOurOwnBug) {
  using Spoil = void (*)(std::vector<ReleaseRequest> & releases);
  const Spoil spoils[] = {[](auto& releases) { releases.clear(); },
                          [](auto& releases) { releases.push_back(releases[0]); },
                          [](auto& releases) { releases[0].share = 0; },
                          [](auto& releases) { releases[0].share = kNan; },
                          [](auto& releases) { releases[0].rounds = 0; },
                          [](auto& releases) { releases[0].rows_per_unit = 0; },
                          [](auto& releases) { releases[0].sampling_rate = 0.5; },
                          [](auto& releases) { releases[0].blocks.clear(); },
                          [](auto& releases) { releases[0].blocks[1].name = "sum"; },
                          [](auto& releases) { releases[0].blocks[1].name = ""; },
                          [](auto& releases) { releases[0].blocks[1].elements = 0; },
                          [](auto& releases) { releases[0].blocks[1].loss_weight = 0; },
                          [](auto& releases) { releases[0].blocks[1].loss_weight = kNan; },
                          [](auto& releases) { releases[0].profiles.clear(); },
                          [](auto& releases) { releases[0].profiles[0].squared_l2.pop_back(); },
                          [](auto& releases) { releases[0].profiles[0].squared_l2[1] = 0; },
                          [](auto& releases) { releases[0].profiles.push_back(releases[0].profiles[0]); }};
  ASSERT_NO_THROW(make_noise_plan(0.3, Adjacency::kAddRemove, good_requests()));
  for (const Spoil spoil : spoils) {
    std::vector<ReleaseRequest> releases = good_requests();
    spoil(releases);
    EXPECT_THROW(make_noise_plan(0.3, Adjacency::kAddRemove, releases), std::logic_error);
  }
}

TEST(NoisePlanSelections, StandBesideReleasesOrAlone) {
  const PlannedSelection choice{"choice", {.epsilon = 0.5, .candidates = 4}};
  const NoisePlan alone = with_selections({.adjacency = Adjacency::kAddRemove}, {choice});
  EXPECT_EQ(alone.mu, 0);
  EXPECT_EQ(alone.selection("choice"), choice);
  EXPECT_THROW(alone.selection("other"), std::logic_error);
  EXPECT_EQ(with_selections(alone, {{"second", choice.terms}}).selections.size(), 2u);
}

TEST(NoisePlanSelections, HaveNamesOfTheirOwnAndValidTerms) {
  const SelectionTerms terms{.epsilon = 0.5, .candidates = 4};
  const NoisePlan plan = plan_of_one(1, Adjacency::kAddRemove, "sums", {{"sum", 3, 1}}, {{"row", {4}}});
  EXPECT_THROW(with_selections(plan, {{"sums", terms}}), std::logic_error);
  EXPECT_THROW(with_selections(plan, {{"choice", terms}, {"choice", terms}}), std::logic_error);
  EXPECT_THROW(with_selections(plan, {{"", terms}}), std::logic_error);
  EXPECT_THROW(with_selections(plan, {{"choice", {.epsilon = 0, .candidates = 4}}}), UsageError);
  SelectionTerms undrawn = terms;
  undrawn.mechanism = SelectionMechanism::kPermuteAndFlip;
  EXPECT_THROW(with_selections(plan, {{"choice", undrawn}}), std::logic_error);
  EXPECT_EQ(with_selections(plan, {{"choice", terms}}).mu, plan.mu);
}

}  // namespace dpreduce::noise_plan_test
