#include "common/ledger/ledger_record.hpp"

#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::ledger_record_test {

template <typename T>
void expect_faults(const T& good, const Spoils<T>& spoils) {
  ASSERT_EQ(fault_of(good), "");
  for (const auto& [spoil, message] : spoils) {
    T bad = good;
    spoil(bad);
    EXPECT_THAT(fault_of(bad), HasSubstr(message));
    EXPECT_FALSE(bad == good) << message;
  }
}

TEST(LedgerRecord, ARunIsNamedBeforeTheFirstSlash) {
  EXPECT_EQ(run_of("run-1/gradient/3"), "run-1");
  EXPECT_EQ(run_of("run-1"), "run-1");
  EXPECT_EQ(run_of("/means"), "");
}

TEST(LedgerRecord, FaultsOfEndsAndStartsNameTheField) {
  EXPECT_EQ(fault_of(RunEnd{"run-1", RunOutcome::kStopped}), "");
  for (const char* run : {"run/1", "..", "."}) {
    EXPECT_THAT(fault_of(RunEnd{run, RunOutcome::kStopped}), HasSubstr("run must")) << run;
  }
  EXPECT_FALSE((RunEnd{"run-1", RunOutcome::kStopped} == RunEnd{"run-1", RunOutcome::kReleased}));
  const LedgerStart start{std::string(64, 'a'), "1.0"};
  expect_faults(start, {{[](LedgerStart& bad) { bad.public_key += 'a'; }, "public key must"},
                        {[](LedgerStart& bad) { bad.public_key.pop_back(); }, "public key must"},
                        {[](LedgerStart& bad) { bad.version.clear(); }, "version must"}});
  EXPECT_FALSE((start == LedgerStart{start.public_key, "1.1"}));
}

TEST(LedgerRecord, FaultsOfEntriesNameTheField) {
  const auto silos = [](const LedgerSilos& some) { return [some](LedgerEntry& entry) { entry.terms.silos = some; }; };
  expect_faults(
      sample_entry("run-1/means"),
      {{[](auto& entry) { entry.release_id = ""; }, "release id must"},
       {[](auto& entry) { entry.release_id.assign(129, 'x'); }, "release id must"},
       {[](auto& entry) { entry.terms.method = "a\nb"; }, "method must"},
       {[](auto& entry) { entry.terms.version = "\""; }, "version must"},
       {[](auto& entry) { entry.terms.method = "\xff"; }, "method must"},
       {[](auto& entry) { entry.blocks.clear(); }, "blocks must not be empty"},
       {[](auto& entry) { entry.blocks[1].name = "<"; }, "a block's name"},
       {[](auto& entry) { entry.blocks[1].elements = 0; }, "block count: has no"},
       {[](auto& entry) { entry.blocks[1].sigma = 0; }, "block count: sigma = 0"},
       {[](auto& entry) { entry.blocks[0].sigma = kNan; }, "block sum: sigma = nan"},
       {[](auto& entry) { entry.blocks[0].sensitivity = kInfinity; }, "block sum: sensitivity = inf"},
       {[](auto& entry) { entry.mu = -1; }, "mu = -1"},
       {[](auto& entry) { entry.mu = 1e200; }, "rho = mu^2 / 2 = inf"},
       {[](auto& entry) { entry.terms.delta.reset(); }, "together"},
       {[](auto& entry) { entry.terms.epsilon.reset(); }, "together"},
       {[](auto& entry) { entry.terms.epsilon = kNan; }, "epsilon = nan"},
       {[](auto& entry) { entry.terms.delta = 1; }, "delta = 1"},
       {[](auto& entry) { entry.terms.config_digest = "abc"; }, "config digest must"},
       {[](auto& entry) { entry.terms.config_digest.assign(64, 'A'); }, "config digest must"},
       {[](auto& entry) { entry.terms.config_digest.assign(129, 'a'); }, "config digest must"},
       {[](auto& entry) { entry.terms.asked = "a\tb"; }, "requested method must"},
       {[](auto& entry) { entry.terms.data_set = "a\tb"; }, "data set must"},
       {[](auto& entry) { entry.terms.delta = 0; }, "delta = 0"},
       {[](auto& entry) { entry.terms.forfeits = {Forfeit::kModel}; }, "private, and forfeited, cannot be"},
       {[](auto& entry) { entry.blocks[0].elements = 0; }, "block sum: has no"},
       {[](auto& entry) { entry.sampling_rate = 0; }, "sampling rate = 0"},
       {[](auto& entry) { entry.sampling_rate = 1.5; }, "sampling rate = 1.5"},
       {silos({NoiseSource::kCentral, 3, 0, 0}), "silos: 3 left, threshold 0, 0 colluding cannot be"},
       {silos({NoiseSource::kCentral, 4, 4, 4}), "silos: 4 left, threshold 4, 4 colluding cannot be"},
       {silos({NoiseSource::kDistributed, 3, 4, 1}), "silos: 3 left, threshold 4, 1 colluding cannot be"},
       {silos({NoiseSource::kDistributed, 5, 4, 1, 2}), "silos: silo 2, 5 left, threshold 4, 1 colluding cannot be"}});
}

TEST(LedgerRecord, FaultsOfSelectionsNameTheField) {
  expect_faults(sample_selection("run-1/choice", SelectionMechanism::kExponential, 0.5),
                {{[](auto& entry) { entry.blocks = sample_entry("run-1/means").blocks; }, "has no blocks"},
                 {[](auto& entry) { entry.sampling_rate = 0.5; }, "sampling rate = 0.5"},
                 {[](auto& entry) { entry.mu = 0.1; }, "mu = 0.1"},
                 {[](auto& entry) { entry.selection->epsilon = 0; }, "selection: epsilon = 0"},
                 {[](auto& entry) { entry.selection->epsilon = kNan; }, "epsilon = nan"},
                 {[](auto& entry) { entry.selection->epsilon = 201; }, "epsilon = 201"},
                 {[](auto& entry) { entry.selection->sensitivity = 0; }, "sensitivity = 0"},
                 {[](auto& entry) { entry.selection->candidates = 0; }, "candidates = 0"},
                 {[](auto& entry) { entry.selection->groups = 0; }, "groups = 0"},
                 {[](auto& entry) { entry.selection->groups = 1ULL << 62; }, "at most 2^40"},
                 {[](auto& entry) { entry.selection->chosen = 0; }, "chosen = 0"},
                 {[](auto& entry) { entry.selection->chosen = 1001; }, "chosen = 1001"},
                 {[](auto& entry) { entry.selection->mechanism = SelectionMechanism::kPermuteAndFlip; },
                  "permute-and-flip chooses one"}});
}

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

TEST(Reservation, CoversEveryLabelOfItsRoundsAndNoOtherRelease) {
  const Reservation reservation = sample_reservation("run-1", 2);
  for (const char* id : {"run-1/means", "run-1/means/17"}) {
    EXPECT_EQ(uncovered(reservation, sample_entry(id)), "") << id;
  }
  for (const char* id : {"run-1/mean", "run-1/meanss", "run-1/means/", "run-1/means/x", "run-1/means/1/2", "run-1/",
                         "run-1", "run-1/gram"}) {
    EXPECT_THAT(uncovered(reservation, sample_entry(id)), HasSubstr("no (further) release")) << id;
  }
  LedgerEntry dearer = sample_entry("run-1/means/1");
  dearer.mu = std::nextafter(0.25, 1);
  LedgerEntry cheaper = dearer;
  cheaper.mu = 0.125;
  EXPECT_EQ(uncovered(reservation, cheaper), "");
  LedgerEntry sampled = sample_entry("run-1/means/1");
  sampled.sampling_rate = 0.5;
  for (const LedgerEntry& other :
       {dearer, sampled, sample_selection("run-1/means", SelectionMechanism::kExponential, 0.1)}) {
    EXPECT_THAT(uncovered(reservation, other), HasSubstr("no (further) release")) << other.mu;
  }
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

TEST(Reservation, TermsOfAChargeMustBeTheReservationsButForTheMethodThatWasAskedFor) {
  const Spoils<RunTerms> changes{{[](auto& terms) { terms.method = "gd"; }, "method"},
                                 {[](auto& terms) { terms.adjacency = Adjacency::kReplaceOne; }, "adjacency"},
                                 {[](auto& terms) { terms.accountant = Accountant::kRdp; }, "accountant"},
                                 {[](auto& terms) { terms.is_private = false; }, "private"},
                                 {[](auto& terms) { terms.forfeits = {Forfeit::kModel}; }, "private"},
                                 // A reader goes by either line for what is public by the word of who ran it.
                                 {[](auto& terms) { terms.public_by_word = {PublicByWord::kModel}; }, "public_by_word"},
                                 {[](auto& terms) { terms.unit = PrivacyUnit::kPerson; }, "unit"},
                                 {[](auto& terms) { terms.epsilon = 2; }, "epsilon"},
                                 {[](auto& terms) { terms.delta = 1e-6; }, "delta"},
                                 {[](auto& terms) { terms.config_digest.assign(64, 'b'); }, "config digest"},
                                 {[](auto& terms) { terms.version = "9"; }, "version"}};
  for (const auto& [change, field] : changes) {
    LedgerEntry entry = sample_entry("run-1/means");
    change(entry.terms);
    EXPECT_EQ(uncovered(sample_reservation("run-1"), entry), field + " is not that of the run's reservation");
    EXPECT_FALSE(entry == sample_entry("run-1/means")) << field;
  }
  // Ledgers of builds that did not tell it have open runs, too.
  LedgerEntry entry = sample_entry("run-1/means");
  entry.terms.asked = "auto";
  EXPECT_EQ(uncovered(sample_reservation("run-1"), entry), "");
}

TEST(Reservation, FaultsNameTheField) {
  Reservation good = sample_reservation("run-1", 2);
  good.selections = {{"choice", *sample_selection("", SelectionMechanism::kExponential, 0.5).selection}};
  expect_faults(good, {{[](auto& bad) { bad.run_id = ""; }, "run must be 1 to 64"},
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
                       {[](auto& bad) { bad.releases[0].mu = kInfinity; }, "mu = inf"},
                       {[](auto& bad) { bad.releases[0].sampling_rate = 0; }, "sampling rate = 0"},
                       {[](auto& bad) { bad.releases[0].sampling_rate = 1.5; }, "sampling rate = 1.5"},
                       {[](auto& bad) { bad.selections[0].name = ""; }, "a selection's name must"},
                       {[](auto& bad) { bad.run_id = "."; }, "run must be 1 to 64"},
                       {[](auto& bad) { bad.releases[0].name = ""; }, "a release's name must"},
                       {[](auto& bad) { bad.releases.push_back(bad.releases[0]); }, "release means: is reserved twice"},
                       {[](auto& bad) { bad.selections[0].name = "means"; }, "release means: is reserved twice"},
                       {[](auto& bad) { bad.selections[0].terms.epsilon = 0; }, "selection choice: epsilon = 0"},
                       {[](auto& bad) { bad.instead_of = "run-1"; }, "is the run itself"},
                       {[](auto& bad) { bad.instead_of = "a b"; }, "instead of must"}});
}

}  // namespace dpreduce::ledger_record_test
