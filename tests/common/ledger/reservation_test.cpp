#include "common/ledger/ledger_record.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/testing.hpp"

namespace dpreduce::reservation_test {

TEST(Reservation, OfAPlanHasAllThatThePlanMayCharge) {
  NoisePlan plan = make_noise_plan(
      0.4, Adjacency::kAddRemove,
      {{.name = "gradient", .share = 3, .rounds = 7, .blocks = {{"sum", 3, 1}}, .profiles = {{"row", {4}}}},
       {.name = "mean", .share = 1, .blocks = {{"sum", 5, 1}}, .profiles = {{"row", {9}}}}});
  plan.releases[1].sampling_rate = 0.5;
  const SelectionTerms terms{.epsilon = 0.5, .candidates = 9};
  plan = with_selections(plan, {{.name = "choice", .terms = terms, .fraction_bits = 8}});
  const Reservation reservation = reservation_of(plan, "run-1", sample_terms());
  EXPECT_EQ(fault_of(reservation), "");
  EXPECT_EQ(reservation.run_id, "run-1");
  EXPECT_EQ(reservation.terms, sample_terms());
  ASSERT_EQ(reservation.releases.size(), 2U);
  EXPECT_EQ(reservation.releases[0],
            (ReservedRelease{.name = "gradient", .rounds = 7, .mu = mu_of_rounds(plan.releases[0], 1)}));
  EXPECT_EQ(reservation.releases[1].sampling_rate, 0.5);
  EXPECT_EQ(reservation.selections, (std::vector<PlannedSelection>{{"choice", terms}}));  // as a charge tells of it
  EXPECT_TRUE(reservation.instead_of.empty());
}

TEST(Reservation, CoversEveryLabelOfItsRounds) {
  const Reservation reservation = sample_reservation("run-1", 2);
  EXPECT_EQ(uncovered(reservation, sample_entry("run-1/means")), "");
  EXPECT_EQ(uncovered(reservation, sample_entry("run-1/means/17")), "");
}

TEST(Reservation, CoversNoOtherRelease) {
  const Reservation reservation = sample_reservation("run-1", 2);
  for (const char* id : {"run-1/mean", "run-1/meanss", "run-1/means/", "run-1/means/x", "run-1/means/1/2", "run-1/",
                         "run-1", "run-1/gram"}) {
    EXPECT_THAT(uncovered(reservation, sample_entry(id)), HasSubstr("no (further) release")) << id;
  }
  LedgerEntry dearer = sample_entry("run-1/means/1");
  dearer.mu = std::nextafter(0.25, 1);
  EXPECT_THAT(uncovered(reservation, dearer), HasSubstr("no (further) release"));
  LedgerEntry cheaper = sample_entry("run-1/means/1");
  cheaper.mu = 0.125;
  EXPECT_EQ(uncovered(reservation, cheaper), "");
  LedgerEntry sampled = sample_entry("run-1/means/1");
  sampled.sampling_rate = 0.5;
  EXPECT_THAT(uncovered(reservation, sampled), HasSubstr("no (further) release"));
  EXPECT_THAT(uncovered(reservation, sample_selection("run-1/means", SelectionMechanism::kExponential, 0.1)),
              HasSubstr("no (further) release"));
}

// A reader goes by either line for what is public by the word of who ran it.
TEST(Reservation, CoversNoReleaseOfOtherTerms) {
  const Reservation reservation = sample_reservation("run-1", 2);
  LedgerEntry entry = sample_entry("run-1/means");
  entry.terms.public_by_word = {PublicByWord::kModel};
  EXPECT_EQ(uncovered(reservation, entry), "public_by_word is not that of the run's reservation");
  entry = sample_entry("run-1/means");
  entry.terms.forfeits = {Forfeit::kModel};
  EXPECT_EQ(uncovered(reservation, entry), "private is not that of the run's reservation");
}

TEST(Reservation, CoversASelectionOfItsTermsAlone) {
  const LedgerEntry selection = sample_selection("run-1/choice", SelectionMechanism::kExponential, 0.5);
  const Reservation reservation = reservation_for(selection);
  EXPECT_EQ(uncovered(reservation, selection), "");
  LedgerEntry other = selection;
  other.selection->epsilon = 0.25;
  EXPECT_NE(uncovered(reservation, other), "");
  other = selection;
  other.release_id = "run-1/choice/1";
  EXPECT_NE(uncovered(reservation, other), "");
}

TEST(Reservation, IsUsedUpRoundByRound) {
  Reservation reservation = sample_reservation("run-1", 2);
  reservation.selections = {{"choice", *sample_selection("", SelectionMechanism::kExponential, 0.5).selection}};
  take_off(reservation, sample_entry("run-1/means/1"));
  EXPECT_EQ(reservation.releases.at(0).rounds, 1U);
  take_off(reservation, sample_entry("run-1/means/2"));
  EXPECT_TRUE(reservation.releases.empty());
  EXPECT_NE(uncovered(reservation, sample_entry("run-1/means/3")), "");
  EXPECT_FALSE(reservation.is_empty());
  take_off(reservation, sample_selection("run-1/choice", SelectionMechanism::kExponential, 0.5));
  EXPECT_TRUE(reservation.is_empty());
}

TEST(Reservation, CoversOneNumberOfSilosLeftAsWellAsAnother) {
  LedgerEntry entry = sample_entry("run-1/means");
  entry.terms.silos = LedgerSilos{NoiseSource::kDistributed, 5, 4, 1};
  const Reservation reservation = reservation_for(entry);
  entry.terms.silos->left = 4;
  EXPECT_EQ(uncovered(reservation, entry), "");
  entry.terms.silos->colluding = 2;
  EXPECT_THAT(uncovered(reservation, entry), HasSubstr("silos is not that"));
  entry.terms.silos.reset();
  EXPECT_THAT(uncovered(reservation, entry), HasSubstr("silos is not that"));
}

TEST(Reservation, TermsOfAChargeMustBeTheReservations) {
  const Spoils<RunTerms> changes{{[](auto& terms) { terms.method = "gd"; }, "method"},
                                 {[](auto& terms) { terms.adjacency = Adjacency::kReplaceOne; }, "adjacency"},
                                 {[](auto& terms) { terms.accountant = Accountant::kRdp; }, "accountant"},
                                 {[](auto& terms) { terms.is_private = false; }, "private"},
                                 {[](auto& terms) { terms.epsilon = 2; }, "epsilon"},
                                 {[](auto& terms) { terms.delta = 1e-6; }, "delta"},
                                 {[](auto& terms) { terms.config_digest.assign(64, 'b'); }, "config digest"},
                                 {[](auto& terms) { terms.version = "9"; }, "version"}};
  for (const auto& [change, field] : changes) {
    LedgerEntry entry = sample_entry("run-1/means");
    change(entry.terms);
    EXPECT_EQ(uncovered(sample_reservation("run-1"), entry), field + " is not that of the run's reservation");
  }
}

// Ledgers of builds that did not tell it have open runs, too.
TEST(Reservation, WhatWasAskedForBindsNothing) {
  LedgerEntry entry = sample_entry("run-1/means");
  entry.terms.asked = "auto";
  EXPECT_EQ(uncovered(sample_reservation("run-1"), entry), "");
}

TEST(Reservation, FaultsNameTheField) {
  const Spoils<Reservation> spoils{
      {[](auto& bad) { bad.run_id = ""; }, "run must be 1 to 64"},
      {[](auto& bad) { bad.run_id = "a/b"; }, "run must be 1 to 64"},
      {[](auto& bad) { bad.run_id.assign(65, 'x'); }, "run must be 1 to 64"},
      {[](auto& bad) { bad.run_id = ".."; }, "run must be 1 to 64"},
      {[](auto& bad) {
         bad.releases.clear();
         bad.selections.clear();
       },
       "reserves nothing"},
      {[](auto& bad) { bad.terms.method = "\n"; }, "method must"},
      {[](auto& bad) { bad.releases[0].rounds = 0; }, "release means: rounds = 0"},
      {[](auto& bad) { bad.releases[0].mu = 0; }, "release means: mu = 0"},
      {[](auto& bad) { bad.releases[0].mu = std::numeric_limits<double>::infinity(); }, "mu = inf"},
      {[](auto& bad) { bad.releases[0].sampling_rate = 0; }, "sampling rate = 0"},
      {[](auto& bad) { bad.releases[0].name = ""; }, "a release's name must"},
      {[](auto& bad) { bad.releases.push_back(bad.releases[0]); }, "release means: is reserved twice"},
      {[](auto& bad) { bad.selections[0].name = "means"; }, "release means: is reserved twice"},
      {[](auto& bad) { bad.selections[0].terms.epsilon = 0; }, "selection choice: epsilon = 0"},
      {[](auto& bad) { bad.instead_of = "run-1"; }, "is the run itself"},
      {[](auto& bad) { bad.instead_of = "a b"; }, "instead of must"}};
  Reservation good = sample_reservation("run-1", 2);
  good.selections = {{"choice", *sample_selection("", SelectionMechanism::kExponential, 0.5).selection}};
  ASSERT_EQ(fault_of(good), "");
  for (const auto& [spoil, message] : spoils) {
    Reservation reservation = good;
    spoil(reservation);
    EXPECT_THAT(fault_of(reservation), HasSubstr(message));
  }
}

}  // namespace dpreduce::reservation_test
