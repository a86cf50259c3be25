#include "common/ledger/reservation.hpp"

#include <functional>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/ledger/sample_ledger.hpp"

namespace dpreduce {
namespace {

using testing::HasSubstr;

TEST(Reservation, OfAPlanHasAllThatThePlanMayCharge) {
  NoisePlan plan = make_noise_plan(
      0.4, Adjacency::kAddRemove,
      {{.name = "gradient", .share = 3, .rounds = 7, .blocks = {{"sum", 3, 1}}, .profiles = {{"row", {4}}}},
       {.name = "mean", .share = 1, .blocks = {{"sum", 5, 1}}, .profiles = {{"row", {9}}}}});
  plan.releases[1].sampling_rate = 0.5;
  const SelectionTerms terms{.mechanism = SelectionMechanism::kPermuteAndFlip, .epsilon = 0.5, .candidates = 9};
  plan = with_selections(plan, {{"choice", terms}});
  const Reservation reservation = reservation_of(plan, "run-1", sample_terms());
  EXPECT_EQ(fault_of(reservation), "");
  EXPECT_EQ(reservation.run_id, "run-1");
  EXPECT_EQ(reservation.terms, sample_terms());
  ASSERT_EQ(reservation.releases.size(), 2U);
  EXPECT_EQ(reservation.releases[0],
            (ReservedRelease{.name = "gradient", .rounds = 7, .mu = mu_of_rounds(plan.releases[0], 1)}));
  EXPECT_EQ(reservation.releases[1].sampling_rate, 0.5);
  ASSERT_EQ(reservation.selections.size(), 1U);
  EXPECT_EQ(reservation.selections[0].terms, terms);
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

struct OtherTerms {
  const char* name;
  std::function<void(RunTerms&)> change;
  const char* field;
};

class ReservationTerms : public testing::TestWithParam<OtherTerms> {};

TEST_P(ReservationTerms, OfAChargeMustBeTheReservations) {
  LedgerEntry entry = sample_entry("run-1/means");
  GetParam().change(entry.terms);
  EXPECT_EQ(uncovered(sample_reservation("run-1"), entry),
            std::string(GetParam().field) + " is not that of the run's reservation");
}

INSTANTIATE_TEST_SUITE_P(
    Fields, ReservationTerms,
    testing::Values(
        OtherTerms{"Method", [](RunTerms& terms) { terms.method = "gd"; }, "method"},
        OtherTerms{"Adjacency", [](RunTerms& terms) { terms.adjacency = Adjacency::kReplaceOne; }, "adjacency"},
        OtherTerms{"Accountant", [](RunTerms& terms) { terms.accountant = Accountant::kRdp; }, "accountant"},
        OtherTerms{"Private", [](RunTerms& terms) { terms.is_private = false; }, "private"},
        OtherTerms{"Epsilon", [](RunTerms& terms) { terms.epsilon = 2; }, "epsilon"},
        OtherTerms{"Delta", [](RunTerms& terms) { terms.delta = 1e-6; }, "delta"},
        OtherTerms{"Config", [](RunTerms& terms) { terms.config_digest.assign(64, 'b'); }, "config digest"},
        OtherTerms{"Version", [](RunTerms& terms) { terms.version = "9"; }, "version"}),
    [](const auto& test) { return test.param.name; });

struct BadReservation {
  const char* name;
  std::function<void(Reservation&)> spoil;
  const char* message;
};

class ReservationFault : public testing::TestWithParam<BadReservation> {};

TEST_P(ReservationFault, NamesTheField) {
  Reservation reservation = sample_reservation("run-1", 2);
  reservation.selections = {{"choice", *sample_selection("", SelectionMechanism::kExponential, 0.5).selection}};
  ASSERT_EQ(fault_of(reservation), "");
  GetParam().spoil(reservation);
  EXPECT_THAT(fault_of(reservation), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, ReservationFault,
    testing::Values(
        BadReservation{"NoRun", [](Reservation& bad) { bad.run_id = ""; }, "run must be 1 to 64"},
        BadReservation{"SlashInRun", [](Reservation& bad) { bad.run_id = "a/b"; }, "run must be 1 to 64"},
        BadReservation{"LongRun", [](Reservation& bad) { bad.run_id.assign(65, 'x'); }, "run must be 1 to 64"},
        BadReservation{"ParentFolder", [](Reservation& bad) { bad.run_id = ".."; }, "run must be 1 to 64"},
        BadReservation{"Nothing",
                       [](Reservation& bad) {
                         bad.releases.clear();
                         bad.selections.clear();
                       },
                       "reserves nothing"},
        BadReservation{"Method", [](Reservation& bad) { bad.terms.method = "\n"; }, "method must"},
        BadReservation{"NoRounds", [](Reservation& bad) { bad.releases[0].rounds = 0; }, "release means: rounds = 0"},
        BadReservation{"NoMu", [](Reservation& bad) { bad.releases[0].mu = 0; }, "release means: mu = 0"},
        BadReservation{"InfiniteMu",
                       [](Reservation& bad) { bad.releases[0].mu = std::numeric_limits<double>::infinity(); },
                       "mu = inf"},
        BadReservation{"NoRate", [](Reservation& bad) { bad.releases[0].sampling_rate = 0; }, "sampling rate = 0"},
        BadReservation{"Name", [](Reservation& bad) { bad.releases[0].name = ""; }, "a release's name must"},
        BadReservation{"Twice", [](Reservation& bad) { bad.releases.push_back(bad.releases[0]); },
                       "release means: is reserved twice"},
        BadReservation{"SelectionNamedAsARelease", [](Reservation& bad) { bad.selections[0].name = "means"; },
                       "release means: is reserved twice"},
        BadReservation{"NoEpsilon", [](Reservation& bad) { bad.selections[0].terms.epsilon = 0; },
                       "selection choice: epsilon = 0"},
        BadReservation{"InsteadOfItself", [](Reservation& bad) { bad.instead_of = "run-1"; }, "is the run itself"},
        BadReservation{"InsteadOfNoRun", [](Reservation& bad) { bad.instead_of = "a b"; }, "instead of must"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace dpreduce
