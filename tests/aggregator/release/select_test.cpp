#include "aggregator/release/release.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/base/error.hpp"
#include "common/ledger/statistic.hpp"
#include "tests/common/ledger/charged_runs.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce::select_test {

// 40 groups of 16 candidates; at this epsilon choices are nearly uniform, so that two independent selections are equal
// with probability below 16^-39.
const PlannedSelection kChoice{"choice",
                               {.mechanism = SelectionMechanism::kExponential,
                                .epsilon = 0.1,
                                .sensitivity = 20,
                                .candidates = 16,
                                .groups = 40,
                                .chosen = 1}};

Statistic utilities_of(const PlannedSelection& selection, const std::function<std::int64_t(std::size_t)>& utility) {
  Statistic statistic = empty_utilities(selection);
  const auto values = statistic.block(0);
  for (std::size_t e = 0; e < values.size(); ++e) values[e] = utility(e);
  return statistic;
}

Statistic some_utilities() {
  return utilities_of(kChoice, [](std::size_t e) { return static_cast<std::int64_t>(e * 7 % 11); });
}

std::vector<std::uint64_t> all_chosen(const Selection& selection) {
  std::vector<std::uint64_t> all;
  for (std::size_t group = 0; group < selection.groups(); ++group) {
    const auto chosen = selection.of_group(group);
    all.insert(all.end(), chosen.begin(), chosen.end());
  }
  return all;
}

class SelectTest : public testing::Test {
 protected:
  static NoisePlan selections_only() { return with_selections({.adjacency = Adjacency::kAddRemove}, {kChoice}); }
  static ReleaseRequest center() { return registered_statistic("center").request({.dim = 20}, 1.0); }
  // A Gaussian release of this mu, then the selection.
  static NoisePlan center_and_choice(double mu) {
    return with_selections(make_noise_plan(mu, Adjacency::kAddRemove, {center()}), {kChoice});
  }

  Releaser releaser(NoisePlan plan, std::optional<DataSetBudget> limit = std::nullopt,
                    std::optional<std::uint64_t> seed = std::nullopt) {
    return Releaser(ranks_, std::move(plan), RunFile(), {.ledger_path = ledger_.string(), .limit = limit, .seed = seed},
                    sample_terms());
  }

  std::size_t lines() const { return charges_of(ledger_).size(); }

  Communicator ranks_ = Communicator::join();
  const TemporaryFolder folder_;
  const std::filesystem::path ledger_ = folder_ / "ledger";
};

TEST_F(SelectTest, TheLineStatesTheTermsAndTheyAreChargedOnce) {
  Releaser selecting = releaser(selections_only());
  selecting.select(kChoice, some_utilities());
  EXPECT_THROW(selecting.select(kChoice, some_utilities()), std::logic_error) << "a second of the same plan";
  const auto records = charges_of(ledger_);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].entry.selection, kChoice.terms);
  EXPECT_TRUE(records[0].entry.terms.is_private);
  EXPECT_TRUE(records[0].entry.release_id.ends_with("/choice"));
  EXPECT_EQ(spending_of(records, Adjacency::kAddRemove).mu, 0);
  EXPECT_NEAR(rho_of(spending_of(records, Adjacency::kAddRemove)), 0.01 / 8, 1e-15);
}

TEST_F(SelectTest, OnlyWhatIsPlannedIsSelectedByUtilitiesOfItsShape) {
  PlannedSelection unknown = kChoice;
  unknown.name = "another";
  EXPECT_THROW(releaser(selections_only()).select(unknown, some_utilities()), std::logic_error);
  PlannedSelection steeper = kChoice;
  steeper.terms.epsilon = 1;
  EXPECT_THROW(releaser(selections_only()).select(steeper, some_utilities()), std::logic_error);
  Releaser selecting = releaser(selections_only());
  EXPECT_THROW(selecting.select(kChoice, Statistic({{"utilities", 16}})), std::logic_error);
  EXPECT_THROW(selecting.select(kChoice, Statistic({{"utilities", 640}, {"more", 1}})), std::logic_error);
  for (const std::uint64_t chosen : {0, 17}) {
    PlannedSelection impossible = kChoice;
    impossible.terms.chosen = chosen;
    EXPECT_THROW(Releaser(ranks_).select(impossible, some_utilities()), std::logic_error);
  }
  EXPECT_EQ(lines(), 0u);
}

TEST_F(SelectTest, GroupsAndRunsHaveChoicesOfTheirOwn) {
  const auto equal = [] { return utilities_of(kChoice, [](std::size_t) { return 5; }); };
  const auto first = all_chosen(releaser(selections_only()).select(kChoice, equal()));
  const auto second = all_chosen(releaser(selections_only()).select(kChoice, equal()));
  EXPECT_NE(first, second);
  EXPECT_GT(std::set<std::uint64_t>(first.begin(), first.end()).size(), 4u);  // of 16; 4 or less: below 1e-20
}

TEST_F(SelectTest, ASeedRepeatsTheChoiceAndSaysSoInTheLedger) {
  const auto seeded = [&] {
    return all_chosen(releaser(selections_only(), std::nullopt, 4).select(kChoice, some_utilities()));
  };
  const std::vector<std::uint64_t> first = seeded();
  EXPECT_EQ(seeded(), first);
  for (const LedgerCharge& record : charges_of(ledger_)) EXPECT_FALSE(record.entry.terms.is_private);
}

TEST_F(SelectTest, ARunThatGoesOnTakesTheChoiceThatIsSaved) {
  const auto resumed = [&] {
    return Releaser(ranks_, selections_only(), resumed_file(ledger_), {.ledger_path = ledger_.string()},
                    sample_terms());
  };
  const std::vector<std::uint64_t> chosen = all_chosen(resumed().select(kChoice, some_utilities()));
  Releaser next = resumed();
  const std::optional<Selection> saved = next.saved(kChoice);
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(all_chosen(*saved), chosen);
  EXPECT_EQ(lines(), 1u) << "charged once";
}

// Limits between the Gaussian release alone and with the selection of epsilon 0.1.
TEST_F(SelectTest, TheDataSetsBudgetIsRefusedBeforeTheFirstReleaseOfARunThatWouldPassIt) {
  const DataSetBudget limit{1.0, 1e-6};
  const auto run = [&](double mu) {
    Releaser both = releaser(center_and_choice(mu), limit);
    both.release("center", empty_statistic(center()));
    both.select(kChoice, some_utilities());
  };
  EXPECT_THROW(run(gdp_mu(1.0, 1e-6)), BudgetRefused);
  EXPECT_EQ(lines(), 0u) << "not even its first release is charged";
  run(gdp_mu(0.9, 1e-6));
  EXPECT_EQ(lines(), 2u);
  EXPECT_THROW(run(gdp_mu(0.9, 1e-6)), BudgetRefused);
  // A run without selections is held against what selections on file have spent.
  EXPECT_THROW(releaser(make_noise_plan(gdp_mu(0.42, 1e-6), Adjacency::kAddRemove, {center()}), limit), BudgetRefused);
  EXPECT_EQ(lines(), 2u);
}

}  // namespace dpreduce::select_test
