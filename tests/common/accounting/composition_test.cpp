#include "common/accounting/composition.hpp"

#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/base/error.hpp"
#include "tests/common/accounting/gaussian_run.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::composition_test {

TEST(Mechanism, IsDescribedWithItsParameters) {
  EXPECT_EQ(describe(GaussianMechanism{1.5}), "Gaussian, z = 1.5");
  EXPECT_EQ(describe(GaussianMechanism{1, 0.01}), "subsampled Gaussian, z = 1, q = 0.01");
  EXPECT_EQ(describe(ExponentialMechanism{0.5}), "exponential mechanism, epsilon = 0.5");
  EXPECT_EQ(describe(PureMechanism{3}), "pure DP, epsilon = 3");
}

TEST(Mechanism, EndsOfAllRangesAreAccepted) {
  for (const double z : {kSmallestNoiseMultiplier, kLargestNoiseMultiplier}) {
    EXPECT_NO_THROW(require_mechanism(GaussianMechanism{z}));
    EXPECT_NO_THROW(require_mechanism(GaussianMechanism{z, kSmallestSamplingRate}));
    EXPECT_NO_THROW(require_mechanism(GaussianMechanism{z, 1}));
  }
  for (const double epsilon : {kSmallestPureEpsilon, kLargestPureEpsilon}) {
    EXPECT_NO_THROW(require_mechanism(ExponentialMechanism{epsilon}));
    EXPECT_NO_THROW(require_mechanism(PureMechanism{epsilon}));
  }
  const std::vector<RepeatedMechanism> longest{{PureMechanism{1}, kLargestCount - 1}, {GaussianMechanism{1}, 1}};
  EXPECT_NO_THROW(require_run(longest));
}

TEST(Mechanism, RunsAreRefusedWithAUsageErrorThatNamesTheArgument) {
  const std::pair<std::vector<RepeatedMechanism>, const char*> bad[] = {
      {{}, "no mechanism"},
      {{{GaussianMechanism{kNan}, 1}}, "noise multiplier = nan"},
      {{{GaussianMechanism{0}, 1}}, "noise multiplier = 0"},
      {{{GaussianMechanism{0, 0.5}, 1}}, "noise multiplier = 0"},
      {{{GaussianMechanism{1, 0}, 1}}, "sampling rate = 0"},
      {{{GaussianMechanism{1, 1.5}, 1}}, "sampling rate = 1.5"},
      {{{ExponentialMechanism{-1}, 1}}, "exponential mechanism = -1"},
      {{{PureMechanism{kNan}, 1}}, "pure-DP mechanism = nan"},
      {{{PureMechanism{1e9}, 1}}, "pure-DP mechanism = 1e+09"},
      {{{GaussianMechanism{1}, 0}}, "count = 0"},
      {{{GaussianMechanism{1}, kLargestCount}, {GaussianMechanism{2}, 1}}, "count = 1 of Gaussian, z = 2"}};
  for (const auto& [run, message] : bad) expect_refusal<UsageError>([&, run = run] { require_run(run); }, {message});
}

TEST(Composition, EveryAccountantSeesTheSameGaussianRun) {
  const std::vector<RepeatedMechanism> run{{GaussianMechanism{3}, 4}, {GaussianMechanism{5, 1}, 7}};
  const ComposedEpsilon epsilon = compose_epsilon(run, 1e-6);
  const double mu = std::sqrt(4. / 9 + 7. / 25);
  expect_relative(*epsilon.gdp, gdp_epsilon(mu, 1e-6), 1e-12);
  EXPECT_LE(epsilon.pld_lower, *epsilon.gdp);
  EXPECT_LE(*epsilon.gdp, epsilon.pld);
  EXPECT_LE(epsilon.pld, epsilon.rdp);
  expect_relative(epsilon.rdp, *epsilon.zcdp_tight, 1e-6);
  EXPECT_LE(*epsilon.zcdp_tight, *epsilon.zcdp_simple);
  EXPECT_EQ(epsilon.best(), *epsilon.gdp);
}

TEST(Composition, AccountantsThatDoNotKnowAMechanismStayEmpty) {
  const std::vector<RepeatedMechanism> sampled{{GaussianMechanism{1, 0.01}, 10}};
  EXPECT_FALSE(compose_epsilon(sampled, 1e-6).gdp);
  EXPECT_FALSE(compose_epsilon(sampled, 1e-6).zcdp_tight);
  EXPECT_FALSE(zcdp_of_run(sampled));
  const std::vector<RepeatedMechanism> pure{{PureMechanism{0.1}, 10}};
  EXPECT_FALSE(gdp_of_run(pure));
  EXPECT_TRUE(zcdp_of_run(pure));
}

TEST(Composition, RhoOfEachMechanismIsRoundedUp) {
  const auto rho = [](const Mechanism& mechanism, double count) { return *zcdp_of_run(repeated(mechanism, count)); };
  EXPECT_EQ(rho(GaussianMechanism{2}, 1), std::nextafter(0.125, 1));
  expect_relative(rho(ExponentialMechanism{0.3}, 5), 5 * 0.09 / 8, 1e-15);
  expect_relative(rho(PureMechanism{0.3}, 5), 5 * 0.09 / 2, 1e-15);
  EXPECT_GE(HighPrecision(rho(ExponentialMechanism{0.3}, 5)), HighPrecision(0.3) * 0.3 * 5 / 8);
}

TEST(Composition, SelectionAgreesWithTheTable) {
  for_each_row("exponential_mechanism.csv", [](const VectorRow& row) {
    const auto run = repeated(ExponentialMechanism{row.number("eps_pure")});
    const ComposedEpsilon epsilon = compose_epsilon(run, row.number("delta"));
    expect_relative(*zcdp_of_run(run), row.number("rho_bounded_range_eps2_over_8"), 1e-11);
    expect_relative(*epsilon.zcdp_simple, row.number("eps_at_delta_via_rho_simple"), 1e-11);
    expect_relative(*epsilon.zcdp_tight, row.number("eps_at_delta_via_rho_tight"), 1e-11);
    EXPECT_LE(epsilon.best(), row.number("min_of_tight_and_pure") * (1 + 1e-11));
    const auto pure = repeated(PureMechanism{row.number("eps_pure")});
    expect_relative(*zcdp_of_run(pure), row.number("rho_generic_pure_dp_eps2_over_2"), 1e-11);
  });
}

// r records, replace-one: sensitivities times r, times 2; every accountant follows.
TEST(Composition, GroupsScaleEveryMechanism) {
  const std::vector<RepeatedMechanism> run{
      {GaussianMechanism{6}, 2}, {ExponentialMechanism{0.5}, 1}, {PureMechanism{0.125}, 3}};
  const auto scaled = run_for(run, {Adjacency::kReplaceOne, 3});
  ASSERT_EQ(scaled.size(), run.size());
  const double z = std::get<GaussianMechanism>(scaled[0].mechanism).noise_multiplier;
  EXPECT_LE(z, 1);
  expect_relative(z, 1, 1e-15);
  expect_relative(std::get<ExponentialMechanism>(scaled[1].mechanism).epsilon, 3, 1e-15);
  EXPECT_GE(std::get<PureMechanism>(scaled[2].mechanism).epsilon, 0.75);
  EXPECT_EQ(scaled[2].count, 3U);
  // One record under add-remove changes nothing.
  const auto same = run_for(repeated(GaussianMechanism{6, 0.1}, 2), {});
  EXPECT_EQ(std::get<GaussianMechanism>(same[0].mechanism).noise_multiplier, 6);
  const ComposedEpsilon group = compose_epsilon(repeated(GaussianMechanism{20}), 1e-5, {Adjacency::kAddRemove, 5});
  expect_relative(*group.gdp, gdp_epsilon(0.25, 1e-5), 1e-12);
  EXPECT_LE(group.pld_lower, *group.gdp);
  EXPECT_GE(group.pld, *group.gdp);
}

// Where nearly all rows are drawn, an exchange is the group of two; else it costs less, and more than one record.
TEST(Composition, AnExchangeOnSamplesHasAPairOfItsOwn) {
  const Neighbors exchange{Adjacency::kReplaceOne, 1};
  const auto nearly_all = repeated(GaussianMechanism{6, 0.999999}, 3);
  const auto pair = repeated(GaussianMechanism{3}, 3);
  expect_relative(compose_epsilon(nearly_all, 1e-6, exchange).pld, *compose_epsilon(pair, 1e-6).gdp, 1e-5);

  const auto rounds = repeated(GaussianMechanism{1, 0.01}, 1000);
  const ComposedEpsilon epsilon = compose_epsilon(rounds, 1e-6, exchange);
  expect_relative(epsilon.pld, 3.214231, 1e-6);  // tests/data has none: a privacy loss distribution of SciPy's normals
  EXPECT_LE(epsilon.pld_lower, epsilon.pld);
  EXPECT_GE(epsilon.pld_lower, epsilon.pld * (1 - 1e-5));
  EXPECT_GE(epsilon.rdp, epsilon.pld);
  EXPECT_GT(epsilon.pld, compose_epsilon(rounds, 1e-6).pld);
}

TEST(Composition, RefusesWhatNoAccountantCovers) {
  const auto sampled = repeated(GaussianMechanism{6, 0.1}, 2);
  EXPECT_THROW(run_for(sampled, {Adjacency::kReplaceOne, 2}), UsageError);
  EXPECT_THROW(run_for(sampled, {Adjacency::kAddRemove, 2}), UsageError);
  EXPECT_THROW(compose_epsilon(sampled, 1e-5, {Adjacency::kAddRemove, 2}), UsageError);
  const auto full = repeated(GaussianMechanism{6, 1}, 2);
  EXPECT_NO_THROW(run_for(full, {Adjacency::kReplaceOne, 1}));
  for (const std::uint64_t records : {0U, 2'000'000U, 1'000'000U}) {  // of the last z falls below its range
    EXPECT_THROW(run_for(full, {Adjacency::kAddRemove, records}), UsageError) << records;
  }
  EXPECT_THROW(run_for(repeated(PureMechanism{150}), {Adjacency::kReplaceOne, 1}), UsageError);
  EXPECT_THROW(compose_epsilon({}, 1e-5), UsageError);
  EXPECT_THROW(compose_epsilon(full, 0), UsageError);
  EXPECT_THROW(zcdp_of_run({}), UsageError);
  EXPECT_THROW(gdp_of_run({}), UsageError);
}

}  // namespace dpreduce::composition_test
