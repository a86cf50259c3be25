#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/privacy_loss.hpp"
#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/ledger/ledger.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::data_set_budget_test {

using enum Adjacency;
using enum SelectionMechanism;
constexpr double kDelta = 1e-6;

LedgerEntry gaussian(const std::string& id, double mu, double sampling_rate = 1) {
  LedgerEntry entry = sample_entry(id);
  entry.mu = mu;
  entry.sampling_rate = sampling_rate;
  return entry;
}

LedgerEntry seeded(LedgerEntry entry) {
  entry.terms.is_private = false;
  return entry;
}

Reservation needs(double mu) {
  return reservation_for(gaussian("run-9/a", mu));
}

void expect_no_room(const LedgerState& state, const Reservation& reservation, const DataSetBudget& limit,
                    const std::vector<std::string>& words) {
  expect_refusal<BudgetRefused>([&] { require_room(state, reservation, limit, "ledger.jsonl"); }, words);
}

// Each charged by a run of its own that has finished.
LedgerState charged(const std::vector<LedgerEntry>& entries) {
  SampleText text;
  for (const LedgerEntry& entry : entries) {
    text.add(reservation_for(entry)).add(entry).add(RunEnd{run_of(entry.release_id), RunOutcome::kFinished});
  }
  return state_of(text.text(), "ledger.jsonl");
}

TEST(DataSetBudget, MuCountsPrivateReleasesAlone) {
  EXPECT_EQ(spending_of(LedgerState().charges(), kAddRemove).mu, 0);
  const LedgerState state = charged({gaussian("run-1/a", 3), gaussian("run-2/a", 4), seeded(gaussian("run-3/a", 100))});
  const double mu = spending_of(state.charges(), kAddRemove).mu;
  EXPECT_NEAR(mu, 5, 1e-14);
  EXPECT_GE(mu, 5);
}

// Written by a build that let runs name data sets: mu 0.3 about one, one of two rounds of mu 0.2 sqrt 2 about another.
TEST(DataSetBudget, LinesWithNamesOfDataSetsAreReadAndCountedForAll) {
  const LedgerState state = Ledger::read(DPREDUCE_TEST_DATA "/reference/ledger_with_names.jsonl");
  ASSERT_EQ(state.charges().size(), 2U);
  EXPECT_EQ(state.charges()[0].entry.terms.data_set, "train");
  EXPECT_EQ(state.charges()[1].entry.terms.data_set, "test");
  EXPECT_NEAR(spending_of(state.charges(), kAddRemove).mu, std::sqrt(0.09 + 0.08), 1e-12);
  EXPECT_NEAR(spending_of_all(state, kAddRemove).mu, 0.5, 1e-12);
  const DataSetBudget limit{gdp_epsilon(0.7, kDelta) * (1 + 1e-9), kDelta};
  EXPECT_NO_THROW(require_room(state, needs(std::sqrt(0.24)), limit, "l"));
  EXPECT_THROW(require_room(state, needs(std::sqrt(0.25)), limit, "l"), BudgetRefused);
}

// Written by a build that drew by permute-and-flip: a choice of epsilon 0.5 and a release of mu 0.25 are charged, a
// choice of epsilon 0.3 is reserved. Totals are those that build told.
TEST(DataSetBudget, LinesOfPermuteAndFlipAreVerifiedAndCountedAsPureDp) {
  const char* const path = DPREDUCE_TEST_DATA "/reference/ledger_with_permute_and_flip.jsonl";
  const LedgerState state = Ledger::read(path);
  ASSERT_EQ(state.charges().size(), 2U);
  EXPECT_EQ(state.charges()[0].entry.selection->mechanism, kPermuteAndFlip);
  const Spending spent = spending_of(state.charges(), kAddRemove);
  ASSERT_EQ(spent.selections.size(), 1U);
  EXPECT_EQ(std::get<PureMechanism>(spent.selections[0].mechanism).epsilon, 0.5);
  EXPECT_NEAR(spent.mu, 0.25, 1e-15);
  EXPECT_NEAR(rho_of(spent), 0.15625, 1e-15);
  EXPECT_NEAR(epsilon_of(spent, kDelta), 1.534260960199745, 1e-9);
  const Spending all = spending_of_all(state, kAddRemove);
  ASSERT_EQ(all.selections.size(), 2U);
  EXPECT_NEAR(rho_of(all), 0.15625 + 0.045, 1e-14);
  const Spending exchanged = spending_of(state.charges(), kReplaceOne);
  EXPECT_EQ(std::get<PureMechanism>(exchanged.selections[0].mechanism).epsilon, 1.0);
  for (const char* edited : {"exponential", "permute-and-flap"}) {
    EXPECT_THROW(state_of(replaced(read_bytes(path), "permute-and-flip", edited), path), LedgerCorrupt) << edited;
  }
}

TEST(DataSetBudget, SelectionsHaveNoMuAndTheirRho) {
  const LedgerState state = charged({gaussian("run-1/a", 0.5), sample_selection("run-2/c", kExponential, 2),
                                     sample_selection("run-3/c", kPermuteAndFlip, 1),
                                     seeded(sample_selection("run-4/c", kExponential, 100))});
  const Spending spent = spending_of(state.charges(), kAddRemove);
  EXPECT_NEAR(spent.mu, 0.5, 1e-15);
  EXPECT_NEAR(rho_of(spent), 0.125 + 0.5 + 0.5, 1e-14);
  EXPECT_GE(rho_of(spent), 1.125);
}

TEST(DataSetBudget, SampledRoundsAreNoGaussians) {
  const LedgerState state = charged({gaussian("run-1/a", 0.5, 0.1), gaussian("run-2/a", 0.5, 0.1)});
  const Spending spent = spending_of(state.charges(), kAddRemove);
  EXPECT_EQ(spent.mu, 0);
  EXPECT_FALSE(spent.is_gaussian());
  ASSERT_EQ(spent.samples.size(), 2U);
  const std::vector<RepeatedMechanism> run{{GaussianMechanism{2, 0.1}, 2}};
  EXPECT_NEAR(epsilon_of(spent, kDelta), pld_epsilon_upper(run, kDelta), 1e-6);
  EXPECT_LT(epsilon_of(spent, kDelta), gdp_epsilon(0.5 * std::sqrt(2.0), kDelta));
  EXPECT_NEAR(rho_of(spent), 0.25, 1e-6);
}

TEST(DataSetBudget, LinesUnderAddRemoveCountTwiceWhereTheQuestionIsReplaceOne) {
  const LedgerState state = charged({gaussian("run-1/a", 0.3), sample_selection("run-2/c", kExponential, 0.5)});
  for (const auto& [question, factor] : {std::pair{kAddRemove, 1.0}, std::pair{kReplaceOne, 2.0}}) {
    const Spending spent = spending_of(state.charges(), question);
    EXPECT_NEAR(spent.mu, 0.3 * factor, 1e-15);
    EXPECT_EQ(std::get<ExponentialMechanism>(spent.selections.at(0).mechanism).epsilon, 0.5 * factor);
  }
  const Spending sampled = spending_of(charged({gaussian("run-1/a", 0.5, 0.1)}).charges(), kReplaceOne);
  const std::vector<RepeatedMechanism> exchanged{{GaussianMechanism{2, 0.1, true}, 1}};
  ASSERT_EQ(sampled.samples.size(), 1U);
  EXPECT_NEAR(epsilon_of(sampled, kDelta), pld_epsilon_upper(exchanged, kDelta), 1e-6);
  EXPECT_LT(epsilon_of(sampled, kDelta), gdp_epsilon(1.0, kDelta));
  EXPECT_NEAR(rho_of(sampled), 0.5, 1e-6);
}

// Under replace-one a charge of a round on a sample states twice the mu of one record.
TEST(DataSetBudget, SampledRoundsUnderReplaceOneCountForOneRecordAsHalf) {
  LedgerEntry exchange = gaussian("run-1/a", 1.0, 0.1);
  exchange.terms.adjacency = kReplaceOne;
  const LedgerState state = charged({exchange});
  const LedgerState half = charged({gaussian("run-1/a", 0.5, 0.1)});
  for (const Adjacency question : {kAddRemove, kReplaceOne}) {
    EXPECT_EQ(spending_of(state.charges(), question).samples, spending_of(half.charges(), question).samples);
  }
}

TEST(DataSetBudget, TotalsAreUnderTheStrictestRelationOfTheLines) {
  LedgerEntry exchange = gaussian("run-2/a", 0.4);
  exchange.terms.adjacency = kReplaceOne;
  const LedgerState one = charged({gaussian("run-1/a", 0.3), seeded(exchange)});
  EXPECT_EQ(strictest_adjacency(one), kAddRemove);
  EXPECT_EQ(strictest_adjacency(one, kReplaceOne), kReplaceOne);
  const LedgerState both = charged({gaussian("run-1/a", 0.3), exchange});
  EXPECT_EQ(strictest_adjacency(both), kReplaceOne);
  SampleText open;
  open.add(reservation_for(exchange));
  EXPECT_EQ(strictest_adjacency(state_of(open.text(), "l")), kReplaceOne);
  // 0.6 of the first, and 0.4; one more of 0.1 under add-remove is 0.2.
  EXPECT_THAT(balance_text(both, kAddRemove, std::nullopt, kDelta),
              fmt::format("epsilon {} at delta 1e-06 (replace-one) is spent in total, no budget is set",
                          upper_figure(gdp_epsilon(std::sqrt(0.52), kDelta))));
  const DataSetBudget limit{gdp_epsilon(std::sqrt(0.56), kDelta), kDelta};
  EXPECT_NO_THROW(require_room(both, needs(0.0999), limit, "l"));
  EXPECT_THROW(require_room(both, needs(0.1001), limit, "l"), BudgetRefused);
}

TEST(DataSetBudget, AReservationCountsAllItsRounds) {
  Reservation reservation = sample_reservation("run-1", 4);
  EXPECT_NEAR(spending_of(reservation, kAddRemove).mu, 0.5, 1e-15);
  EXPECT_NEAR(spending_of(reservation, kReplaceOne).mu, 1, 1e-15);
  reservation.releases[0].sampling_rate = 0.1;
  for (const Adjacency question : {kAddRemove, kReplaceOne}) {
    EXPECT_EQ(spending_of(reservation, question).samples.at(0).count, 4U);
  }
  reservation.terms.is_private = false;
  EXPECT_EQ(spending_of(reservation, kReplaceOne).mu, 0);
}

// mu 0.1 a run under a budget that allows mu 0.2, and what rounding adds to that.
TEST(DataSetBudget, GaussiansAreComparedInMu) {
  const DataSetBudget limit{gdp_epsilon(0.2 + 1e-12, 1e-6), 1e-6};
  std::vector<LedgerEntry> entries;
  for (int run = 0; run < 4; ++run) {
    const LedgerEntry next = gaussian("run-" + std::to_string(run) + "/a", 0.1);
    require_room(charged(entries), reservation_for(next), limit, "ledger.jsonl");
    entries.push_back(next);
  }
  Reservation fifth = needs(0.1);
  expect_no_room(
      charged(entries), fifth, limit,
      {"ledger.jsonl: recorded runs have spent epsilon 0.835", "; with this run's 0.", " the total would be 0.9",
       "above the data set's budget of epsilon 0.834 at delta 1e-06; use a smaller budget"});
  fifth.terms.is_private = false;
  require_room(charged(entries), fifth, limit, "ledger.jsonl");
}

// epsilon 0.4 + 0.4 + 0.2: pure DP adds up, and at a tiny delta nothing is gained over that.
TEST(DataSetBudget, SelectionsAreComparedInEpsilon) {
  const DataSetBudget limit{1.0, 1e-12};
  const auto choice = [](const std::string& id, double epsilon) {
    return sample_selection(id, kPermuteAndFlip, epsilon);
  };
  const LedgerState state = charged({choice("run-1/c", 0.4), choice("run-2/c", 0.4)});
  expect_no_room(state, reservation_for(choice("run-3/c", 0.21)), limit,
                 {"ledger.jsonl: recorded runs have spent epsilon 0.8; with this run's 0.21",
                  "above the data set's budget of epsilon 1 at delta 1e-12; use a smaller budget"});
  require_room(state, reservation_for(choice("run-3/c", 0.2)), limit, "ledger.jsonl");
}

TEST(DataSetBudget, GaussiansAndSelectionsShareOneBudget) {
  const DataSetBudget limit{2.0, 1e-6};
  const LedgerEntry sums = gaussian("run-1/a", gdp_mu(1.9, 1e-6));
  const LedgerEntry choice = sample_selection("run-2/c", kExponential, 0.5);
  require_room({}, reservation_for(sums), limit, "ledger.jsonl");
  require_room({}, reservation_for(choice), limit, "ledger.jsonl");
  expect_no_room(charged({sums}), reservation_for(choice), limit, {"budget of epsilon 2 at delta 1e-06"});
  expect_no_room(charged({choice}), reservation_for(sums), limit, {"budget of epsilon 2"});
}

TEST(DataSetBudget, WhatOpenRunsMayStillChargeCounts) {
  const DataSetBudget limit{gdp_epsilon(0.5 + 1e-12, 1e-6), 1e-6};
  SampleText text;
  text.add(sample_reservation("run-1", 2)).add(sample_entry("run-1/means/1"));
  const LedgerState state = state_of(text.text(), "ledger.jsonl");
  require_room(state, sample_reservation("run-2", 2), limit, "ledger.jsonl");
  expect_no_room(
      state, sample_reservation("run-2", 3), limit,
      {"recorded runs have spent epsilon 1.07", ", open runs may still charge 1.07",
       " (dpreduce ledger show); with this run's 1.93", "the total would be 2.55", "if that run is no longer running",
       "--resume", "`dpreduce ledger release run-1 --ledger ledger.jsonl`"});
  // Its own reservation, and the one that it replaces, do not count.
  require_room(state, sample_reservation("run-1", 3), limit, "ledger.jsonl");
  Reservation anew = sample_reservation("run-2", 3);
  anew.instead_of = "run-1";
  require_room(state, anew, limit, "ledger.jsonl");
  text.add(RunEnd{"run-1", RunOutcome::kStopped});
  require_room(state_of(text.text(), "l"), sample_reservation("run-2", 3), limit, "ledger.jsonl");
}

// With several open runs the user says which; a run among silos is not resumed by a command of its own.
TEST(DataSetBudget, ARefusalSaysHowToGetBackWhatOpenRunsHaveReserved) {
  const DataSetBudget limit{gdp_epsilon(0.5, 1e-6), 1e-6};
  const LedgerState state =
      state_of(SampleText().add(sample_reservation("run-1", 2)).add(sample_reservation("run-2", 2)).text(), "l");
  expect_no_room(state, sample_reservation("run-3"), limit,
                 {"recorded runs have spent epsilon 0, open runs may still charge",
                  "if one of those runs is no longer running, resume it by its own command with --resume, or give it "
                  "up: `dpreduce ledger release RUN --ledger ledger.jsonl`"});
  Reservation among_silos = sample_reservation("run-3", 3);
  among_silos.terms.silos = LedgerSilos{NoiseSource::kDistributed, 5, 4, 1};
  among_silos.instead_of = "run-2";
  expect_no_room(state, among_silos, limit,
                 {"if that run is no longer running, give it up: `dpreduce ledger release run-1 --ledger"});
}

TEST(DataSetBudget, ABudgetThatCannotBeIsRefusedNamingTheArgument) {
  const auto expect_impossible = [](const DataSetBudget& limit, const Reservation& reservation, const char* argument) {
    SCOPED_TRACE(fmt::format("{} {}", limit.epsilon, limit.delta));
    expect_refusal<UsageError>([&] { require_room({}, reservation, limit, "l"); }, {argument});
  };
  const Reservation choice = reservation_for(sample_selection("run-1/c", kExponential, 0.5));
  for (const double epsilon : {-1.0, std::nan("")}) expect_impossible({epsilon, 1e-6}, needs(0.1), "epsilon");
  for (const double delta : {0, 2}) expect_impossible({1, delta}, needs(0.1), "delta");
  for (const double delta : {2.0, 1e-300}) expect_impossible({1, delta}, choice, "delta");
}

TEST(DataSetBudget, ChargesOfRowsAndOfPersonsDoNotAddUp) {
  LedgerEntry person = gaussian("run-1/a", 0.1);
  person.terms.unit = PrivacyUnit::kPerson;
  const LedgerState of_persons = charged({person});
  const LedgerState of_rows = state_of(SampleText().add(sample_reservation("run-1")).text(), "l");
  EXPECT_NO_THROW(require_one_unit({}, PrivacyUnit::kPerson, "l"));
  EXPECT_NO_THROW(require_one_unit(of_persons, PrivacyUnit::kPerson, "l"));
  expect_refusal<BudgetRefused>([&] { require_one_unit(of_persons, PrivacyUnit::kRecord, "ledger.jsonl"); },
                                {"ledger.jsonl: has charges for one person with any number of rows, and this run's are "
                                 "for one row",
                                 "give it a --ledger of its own"});
  expect_refusal<BudgetRefused>([&] { require_one_unit(of_rows, PrivacyUnit::kPerson, "ledger.jsonl"); },
                                {"has charges for one row, and this run's are for one person"});
}

TEST(DataSetBudget, WhatNoAccountantReachesIsToldAsRho) {
  Spending beyond;
  beyond.mu = 2e4;
  EXPECT_EQ(spent_text(beyond, kDelta), "rho 2.01e+08");
  const LedgerState state = charged({gaussian("run-1/a", 2e4), gaussian("run-2/a", 0.5, 0.1)});
  EXPECT_THAT(balance_text(state, kAddRemove, std::nullopt), StartsWith("rho 2.01e+08 is spent in total"));
  expect_no_room(state, needs(0.1), {1, kDelta}, {"have spent epsilon inf"});
}

TEST(DataSetBudget, TheBalanceSaysWhatIsChargedAndWhatIsLeftBesideOpenRuns) {
  const DataSetBudget limit{gdp_epsilon(0.5, 1e-6), 1e-6};
  EXPECT_EQ(balance_text({}, kAddRemove, std::nullopt), "epsilon 0 at delta 1e-05 is spent in total, no budget is set");
  const LedgerState state = charged({gaussian("run-1/a", 0.3)});
  EXPECT_EQ(balance_text(state, kAddRemove, std::nullopt, 1e-6),
            fmt::format("epsilon {} at delta 1e-06 is spent in total, no budget is set",
                        upper_figure(gdp_epsilon(0.3, 1e-6))));
  EXPECT_THAT(balance_text(state, kAddRemove, limit),
              AllOf(HasSubstr("at delta 1e-06 is spent in total, of the data set's budget of epsilon 2.25; "),
                    HasSubstr("a run of epsilon 1.7")));
  EXPECT_THAT(balance_text(state, kReplaceOne, limit), HasSubstr("room for a run of epsilon 0"));
  const LedgerState choice = charged({sample_selection("run-2/c", kExponential, 0.5)});
  EXPECT_EQ(balance_text(choice, kAddRemove, std::nullopt),
            "epsilon 0.497 at delta 1e-05 is spent in total, no budget is set");
  EXPECT_THAT(balance_text(choice, kAddRemove, {{2.0, 1e-6}}),
              AllOf(HasSubstr("epsilon 0."), HasSubstr("spent in total, of the data set's budget of epsilon 2")));
  SampleText text;
  text.add(sample_reservation("run-1", 2)).add(sample_entry("run-1/means/1"));
  const LedgerState open = state_of(text.text(), "l");
  const auto balance = [&](double mu) { return balance_text(open, kAddRemove, {{gdp_epsilon(mu, kDelta), kDelta}}); };
  EXPECT_THAT(balance(0.5),
              AllOf(StartsWith("epsilon 1.07 at delta 1e-06 is spent in total, of the data set's budget"),
                    testing::EndsWith("; room for a run of epsilon " +
                                      lower_figure(gdp_epsilon(std::sqrt(0.125), kDelta)) + " beside open runs")));
  EXPECT_THAT(balance(0.3), testing::EndsWith("; room for a run of epsilon 0 beside open runs"));
}

// A plan that takes all of a budget has room in it, whatever the number of its rounds: also when half of it is charged
// and the rest is reserved anew.
TEST(DataSetBudget, APlanThatTakesAllOfABudgetHasRoom) {
  for (const double epsilon : {0.1, 0.5, 1.0, 3.0}) {
    const DataSetBudget limit{epsilon, 1e-6};
    for (const std::uint64_t rounds : {1, 2, 3, 5, 6, 7, 10, 19, 50, 100}) {
      const NoisePlan plan = make_noise_plan(
          gdp_mu(epsilon, 1e-6), kAddRemove,
          {{.name = "gradient",
            .share = 2,
            .rounds = rounds,
            .blocks = {{"sum", 3, 1}},
            .profiles = {{"row", {32749}}}},
           {.name = "mean", .share = 1, .blocks = {{"sum", 5, 1}, {"n", 1, 2}}, .profiles = {{"row", {999983, 7}}}}});
      const Reservation whole = reservation_of(plan, "run-1", sample_terms());
      require_room({}, whole, limit, "ledger.jsonl");
      SampleText text;
      text.add(whole);
      Reservation rest = whole;
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        const LedgerEntry entry = gaussian("run-1/gradient/" + std::to_string(round), whole.releases[0].mu);
        text.add(entry);
        take_off(rest, entry);
      }
      require_room(state_of(text.text(), "l"), rest, limit, "ledger.jsonl");
    }
  }
}

}  // namespace dpreduce::data_set_budget_test
