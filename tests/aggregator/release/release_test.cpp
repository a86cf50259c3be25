#include "aggregator/release/release.hpp"

#include <csignal>
#include <cstdlib>

#include "common/accounting/gaussian_dp.hpp"
#include "common/base/error.hpp"
#include "common/plan/spending.hpp"
#include "common/plan/statistic.hpp"
#include "common/plan/triangle.hpp"
#include "common/ranks/lifetime.hpp"
#include "tests/common/ledger/charged_runs.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce::release_test {

constexpr std::size_t kClasses = 3;
constexpr std::size_t kDim = 200;
// mu = 1.
const DataSetBudget kLimit{gdp_epsilon(1.0, 1e-6), 1e-6};

class ReleaserTest : public testing::Test {
 protected:
  static std::vector<ReleaseRequest> requests() {
    return {registered_statistic("center").request({.dim = kDim}, 0.1),
            registered_statistic("class_means")
                .request({.classes = kClasses, .dim = kDim, .metric = Metric::kEuclidean}, 0.9)};
  }

  Releaser releaser(RunJournal journal, double mu = 1.0, std::optional<DataSetBudget> limit = std::nullopt) {
    return Releaser(ranks_, make_noise_plan(mu, Adjacency::kAddRemove, requests()), std::move(journal),
                    {.ledger_path = ledger_.string(), .limit = limit}, sample_terms());
  }

  static std::vector<std::int64_t> values_of(const Release& release, std::string_view block) {
    const auto values = release.block(block).values();
    return {values.begin(), values.end()};
  }

  // A statistic whose element e of every block is e.
  static Statistic counting_statistic(const ReleaseRequest& request) {
    Statistic statistic = empty_statistic(request);
    for (std::size_t b = 0; b < statistic.shape().size(); ++b) {
      const auto block = statistic.block(b);
      for (std::size_t e = 0; e < block.size(); ++e) block[e] = static_cast<std::int64_t>(e);
    }
    return statistic;
  }

  static constexpr std::size_t kCenter = 0;  // of the plan's releases
  static constexpr std::size_t kMeans = 1;

  // Makes that release of the plan, of a counting statistic to an element of which `shift` is added.
  static std::vector<std::int64_t> release(Releaser& releaser, std::size_t which, std::int64_t shift = 0) {
    const ReleaseRequest request = requests()[which];
    Statistic statistic = counting_statistic(request);
    statistic.block(0)[17] += shift;
    return values_of(releaser.release(request.name, std::move(statistic)), request.blocks[0].name);
  }
  // Both of them; returns the means.
  static std::vector<std::int64_t> release_both(Releaser& releaser, std::int64_t center_shift = 0,
                                                std::int64_t means_shift = 0) {
    release(releaser, kCenter, center_shift);
    return release(releaser, kMeans, means_shift);
  }
  // The same of a run that goes on where there is one.
  std::vector<std::int64_t> resume_both(std::int64_t center_shift = 0, std::int64_t means_shift = 0) {
    Releaser noised = releaser(resumed_journal(ledger_));
    return release_both(noised, center_shift, means_shift);
  }

  std::filesystem::path journal_path(const std::string& run_id) const {
    return ledger_.string() + "." + run_id + ".journal";
  }

  // A copy from earlier.
  static void put_back(const std::filesystem::path& path, const std::string& bytes) {
    write_bytes(path, bytes);
    namespace fs = std::filesystem;
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  }

  Communicator ranks_ = Communicator::join();
  const TemporaryFolder folder_;
  const std::filesystem::path ledger_ = folder_ / "ledger";
};

TEST_F(ReleaserTest, NonPrivateReleaseIsTheExactSumAndLeavesNoLedger) {
  Releaser exact(ranks_);
  const Release release = exact.release("class_means", counting_statistic(requests()[1]));
  const auto values = values_of(release, "class_sums");
  for (std::size_t e = 0; e < values.size(); ++e) ASSERT_EQ(values[e], static_cast<std::int64_t>(e));
  EXPECT_EQ(release.block("class_sums").sigma(), 0.0);
  EXPECT_FALSE(std::filesystem::exists(ledger_));
}

TEST_F(ReleaserTest, EveryReleaseIsChargedBeforeItIsMade) {
  Releaser noised = releaser(NoiseKey::from_entropy());
  release(noised, kCenter);
  ASSERT_EQ(charges_of(ledger_).size(), 1U);
  release(noised, kMeans);
  const auto records = charges_of(ledger_);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[1].entry.blocks.size(), 2U);
  EXPECT_TRUE(records[1].entry.terms.is_private);
  EXPECT_LE(spending_of(records, Adjacency::kAddRemove).mu, 1.0 + 1e-12);
  EXPECT_NEAR(spending_of(records, Adjacency::kAddRemove).mu, 1.0, 1e-9);
}

TEST_F(ReleaserTest, WithoutALedgerLineThereIsNoRelease) {
  std::filesystem::create_directory(ledger_);
  EXPECT_THROW(releaser(NoiseKey::from_entropy()), BadInput);
}

TEST_F(ReleaserTest, ASecondReleaseOfTheSamePlanIsAnError) {
  Releaser noised = releaser(NoiseKey::from_entropy());
  release(noised, kCenter);
  EXPECT_THROW(release(noised, kCenter), std::logic_error);
}

TEST_F(ReleaserTest, NoiseIsSharedByNoTwoBlocksClassesOrRuns) {
  // Zero statistics: what is released is the noise. With sigma above 6e4, two independent values are equal with
  // probability below 5e-6; of the 5600 pairs compared fewer than five are equal but with probability 1e-10.
  std::vector<std::vector<std::int64_t>> streams;
  for (int run = 0; run < 2; ++run) {
    Releaser noised = releaser(NoiseKey::from_entropy(), 0.5);
    const Release center = noised.release("center", empty_statistic(requests()[0]));
    const Release means = noised.release("class_means", empty_statistic(requests()[1]));
    streams.push_back(values_of(center, "row_sum"));
    const auto sums = values_of(means, "class_sums");
    for (std::size_t c = 0; c < kClasses; ++c) {
      streams.emplace_back(sums.begin() + static_cast<std::ptrdiff_t>(c * kDim),
                           sums.begin() + static_cast<std::ptrdiff_t>((c + 1) * kDim));
    }
  }
  int equal = 0;
  for (std::size_t first = 0; first < streams.size(); ++first) {
    for (std::size_t second = first + 1; second < streams.size(); ++second) {
      for (std::size_t e = 0; e < kDim; ++e) equal += streams[first][e] == streams[second][e] ? 1 : 0;
    }
  }
  EXPECT_LT(equal, 5);
}

TEST_F(ReleaserTest, ASeedRepeatsTheNoiseAndSaysSoInTheLedger) {
  std::vector<std::vector<std::int64_t>> runs;
  for (int run = 0; run < 2; ++run) {
    Releaser noised = releaser(NoiseKey::from_seed(11));
    runs.push_back(values_of(noised.release("class_means", empty_statistic(requests()[1])), "class_sums"));
  }
  EXPECT_EQ(runs[0], runs[1]);
  for (const LedgerCharge& record : charges_of(ledger_)) EXPECT_FALSE(record.entry.terms.is_private);
}

TEST_F(ReleaserTest, AResumedRunRepeatsTheReleaseThatItHasPaidFor) {
  const auto run = [&](RunJournal journal) {
    Releaser noised = releaser(std::move(journal));
    return release(noised, kMeans);
  };
  const auto first = run(resumed_journal(ledger_));
  EXPECT_EQ(run(resumed_journal(ledger_)), first);
  EXPECT_EQ(charges_of(ledger_).size(), 1U) << "charged once";
  EXPECT_NE(run(NoiseKey::from_entropy()), first) << "a new release has new noise";
  EXPECT_EQ(charges_of(ledger_).size(), 2U);
}

TEST_F(ReleaserTest, AnyChangeOfTheStatisticGetsNoiseAndChargeOfItsOwn) {
  const auto run = [&](std::int64_t shift) {
    Releaser noised = releaser(resumed_journal(ledger_));
    return release(noised, kMeans, shift);
  };
  const auto before = run(0);
  const auto after = run(1);
  const auto charges = charges_of(ledger_);
  ASSERT_EQ(charges.size(), 2U);
  EXPECT_NE(run_of(charges[0].entry.release_id), run_of(charges[1].entry.release_id)) << "the run goes on as another";
  // Under shared noise the difference would be 1 at one place and 0 at all others.
  int equal = 0;
  for (std::size_t e = 0; e < before.size(); ++e) equal += before[e] == after[e] ? 1 : 0;
  EXPECT_LT(equal, 3);
  EXPECT_EQ(run(0), before) << "back to the first rows: paid for";
  EXPECT_EQ(run(1), after);
  EXPECT_EQ(charges_of(ledger_).size(), 2U);
}

// A reader of the ledger learns from which release on something changed, and nothing about those that follow.
TEST_F(ReleaserTest, WhatFollowsAChangeIsNewThoughItBeTheSame) {
  const auto before = resume_both();
  EXPECT_NE(resume_both(1), before);
  EXPECT_EQ(charges_of(ledger_).size(), 4U);
}

TEST_F(ReleaserTest, AnotherRunNeverReplays) {
  for (int run = 0; run < 2; ++run) {
    Releaser noised = releaser(NoiseKey::from_entropy());
    release(noised, kCenter);
  }
  EXPECT_EQ(charges_of(ledger_).size(), 2U);
}

// And not before that, when its rows may still be refused.
TEST_F(ReleaserTest, ARunReservesAllOfItsPlanWithItsFirstRelease) {
  Releaser noised = releaser(NoiseKey::from_entropy());
  EXPECT_TRUE(Ledger::read(ledger_).open_runs().empty());
  release(noised, kCenter);
  const LedgerState begun = Ledger::read(ledger_);
  ASSERT_EQ(begun.open_runs().size(), 1U);
  EXPECT_EQ(Ledger::read(ledger_).open_run(noised.run_id())->remains.releases.size(), 1U);
}

TEST_F(ReleaserTest, ASignalSaysWhatIsChargedAndHowToGoOn) {
  const auto interrupted_run = [&] {
    Releaser noised = releaser(resumed_journal(ledger_));
    release(noised, kCenter);
    std::raise(SIGINT);
    return 0;
  };
  EXPECT_EXIT(std::exit(run_guarded(interrupted_run, []() noexcept {})), testing::ExitedWithCode(130),
              "interrupted.*\n.*has charged 1 release of 2, and the others stay reserved: the same command with "
              "--resume goes on.*dpreduce ledger release [0-9a-f]* --ledger .*gives the run up");
}

// A run that goes on and is refused before it charges anything more gives nothing back: what it had reserved was given
// back when it stopped, or stays reserved where it was killed.
TEST_F(ReleaserTest, OnlyARunThatHasChargedHereSaysThatSomethingIsGivenBack) {
  {
    Releaser stopped = releaser(resumed_journal(ledger_));
    release(stopped, kCenter);
    EXPECT_THAT(stopped.way_to_resume(), HasSubstr("has charged 1 release of 2, and the others are given back: "));
  }
  EXPECT_THAT(releaser(resumed_journal(ledger_)).way_to_resume(), HasSubstr("has charged 1 release of 2: the same"));
  remove_ledger(ledger_);
  const pid_t killed = ::fork();
  if (killed == 0) {
    Releaser noised = releaser(resumed_journal(ledger_));
    release(noised, kCenter);
    ::_exit(0);
  }
  ::waitpid(killed, nullptr, 0);
  EXPECT_THAT(releaser(resumed_journal(ledger_)).way_to_resume(),
              HasSubstr("has charged 1 release of 2, and the others stay reserved: "));
}

TEST_F(ReleaserTest, ARunThatFinishesLeavesNoJournalAndNoReservation) {
  Releaser noised = releaser(resumed_journal(ledger_));
  release_both(noised);
  EXPECT_TRUE(noised.can_be_resumed());
  noised.finish();
  EXPECT_FALSE(noised.can_be_resumed());
  const LedgerState state = Ledger::read(ledger_);
  EXPECT_TRUE(state.open_runs().empty());
  EXPECT_EQ(state.outcome(noised.run_id()), RunOutcome::kFinished);
  EXPECT_FALSE(RunJournal::of_run(ledger_, noised.run_id()).has_value());
}

TEST_F(ReleaserTest, AReleaseThatIsNotMadeIsChargedOnceAsPlanned) {
  {
    Releaser noised = releaser(NoiseKey::from_entropy());
    release_both(noised);
    noised.finish();
  }
  for (const bool is_first : {true, false}) {  // the second goes on with the first
    Releaser noised = releaser(resumed_journal(ledger_));
    release(noised, kCenter);
    noised.charge_unmade("class_means");
    const std::vector<LedgerCharge> charges = charges_of(ledger_);
    ASSERT_EQ(charges.size(), 4U) << is_first;
    LedgerEntry unmade = charges[3].entry;
    unmade.release_id = charges[1].entry.release_id;
    EXPECT_EQ(unmade, charges[1].entry);
    EXPECT_THROW(noised.charge_unmade("class_means"), std::logic_error);
  }
}

TEST_F(ReleaserTest, ARunThatHasNotChargedItsPlanHasNotFinished) {
  Releaser noised = releaser(NoiseKey::from_entropy());
  release(noised, kCenter);
  EXPECT_THROW(noised.finish(), std::logic_error);
}

// All of its releases are charged, under the id that it had before it began anew.
TEST_F(ReleaserTest, ARunThatIsBackAtItsFirstRowsFinishes) {
  resume_both();
  {
    Releaser anew = releaser(resumed_journal(ledger_));
    release(anew, kCenter, 1);
  }
  Releaser back = releaser(resumed_journal(ledger_));
  release_both(back);
  EXPECT_EQ(charges_of(ledger_).size(), 3U);
  back.finish();
  EXPECT_TRUE(Ledger::read(ledger_).open_runs().empty());
}

TEST_F(ReleaserTest, ARunThatEndsGivesBackWhatItNeverBegan) {
  std::string run;
  {
    Releaser noised = releaser(resumed_journal(ledger_), 0.9, kLimit);
    release(noised, kCenter);
    run = noised.run_id();
    EXPECT_THROW(releaser(NoiseKey::from_entropy(), 0.9, kLimit), BudgetRefused) << "it is reserved";
  }
  EXPECT_EQ(Ledger::read(ledger_).outcome(run), RunOutcome::kStopped);
  EXPECT_TRUE(RunJournal::of_run(ledger_, run).has_value()) << "its charge may be repeated";
  Releaser next = releaser(NoiseKey::from_entropy(), 0.9, kLimit);
}

// Its rows may have been refused: readers of the ledger are not to know.
TEST_F(ReleaserTest, ARunThatChargedNothingLeavesNoLineAndNoJournal) {
  std::string run;
  {
    Releaser noised = releaser(resumed_journal(ledger_));
    run = noised.run_id();
    EXPECT_FALSE(std::filesystem::exists(ledger_));
  }
  EXPECT_FALSE(std::filesystem::exists(ledger_));
  EXPECT_FALSE(RunJournal::of_run(ledger_, run).has_value());
}

// Nothing was released under its secret, and nobody who looks at the folder should find that it was tried.
TEST_F(ReleaserTest, TheJournalOfARunThatWasKilledBeforeItsFirstLineGoesWithTheNextRun) {
  std::string killed;
  {
    const RunJournal journal = RunJournal::make(ledger_, std::string(64, 'e'), NoiseKey::from_entropy());
    killed = journal.run_id();
    Releaser beside = releaser(resumed_journal(ledger_));
    EXPECT_TRUE(std::filesystem::exists(ledger_.string() + "." + killed + ".journal")) << "it is alive";
  }
  Releaser next = releaser(resumed_journal(ledger_));
  EXPECT_FALSE(std::filesystem::exists(ledger_.string() + "." + killed + ".journal"));
}

// Who loses the race for the budget loses a pass over its rows.
TEST_F(ReleaserTest, RoomThatAnotherRunHasTakenSinceIsRefusedWithTheFirstCharge) {
  Releaser first = releaser(NoiseKey::from_entropy(), 0.9, kLimit);
  std::string run;
  {
    Releaser second = releaser(resumed_journal(ledger_), 0.9, kLimit);
    run = second.run_id();
    release(first, kCenter);
    EXPECT_THROW(release(second, kCenter), BudgetRefused);
  }
  EXPECT_FALSE(RunJournal::of_run(ledger_, run).has_value());
  const LedgerState state = Ledger::read(ledger_);
  EXPECT_EQ(state.charges().size(), 1U);
  EXPECT_EQ(state.open_runs().size(), 1U);
  EXPECT_TRUE(state.open_runs().contains(first.run_id()));
}

TEST_F(ReleaserTest, ARunThatIsRefusedLeavesNothing) {
  EXPECT_THROW(releaser(resumed_journal(ledger_), 1.1, kLimit), BudgetRefused);
  EXPECT_FALSE(std::filesystem::exists(ledger_));
  EXPECT_TRUE(resumed_journal(ledger_).is_new());
}

TEST_F(ReleaserTest, ARunThatWasReleasedWhileItLivedChargesNothingMore) {
  Releaser noised = releaser(NoiseKey::from_entropy());
  release(noised, kCenter);
  Ledger(ledger_).end(noised.run_id(), RunOutcome::kReleased);
  EXPECT_THROW(release(noised, kMeans), BudgetRefused);
  EXPECT_EQ(charges_of(ledger_).size(), 1U);
}

// Killed after the journal's record, before the ledger's line: nothing was released, and the charge comes now.
TEST_F(ReleaserTest, AFingerprintWithoutItsLineIsChargedOnce) {
  std::vector<std::int64_t> first;
  std::string kept;
  {
    Releaser noised = releaser(resumed_journal(ledger_));
    kept = read_bytes(ledger_);
    first = release(noised, kCenter);
  }
  write_bytes(ledger_, kept);
  Releaser noised = releaser(resumed_journal(ledger_));
  EXPECT_EQ(release(noised, kCenter), first);
  EXPECT_EQ(charges_of(ledger_).size(), 1U);
}

// A journal that was put back as it was earlier knows less than the ledger: its run would charge ids that are on file.
TEST_F(ReleaserTest, AJournalOlderThanItsLedgerFreesNoCharge) {
  std::string journal;
  std::string run;
  const auto run_with = [&](std::int64_t shift) {
    Releaser noised = releaser(resumed_journal(ledger_));
    if (run.empty()) {
      run = noised.run_id();
      journal = read_bytes(journal_path(run));
    }
    const auto values = release(noised, kMeans, shift);
    noised.charge_unmade("center");
    noised.finish();
    return values;
  };
  const auto before = run_with(0);
  put_back(journal_path(run), journal);
  EXPECT_NE(run_with(1), before);
  EXPECT_EQ(charges_of(ledger_).size(), 4U) << "other rows were released, and not charged";
  put_back(journal_path(run), journal);
  EXPECT_NE(run_with(0), before) << "what the journal does not know is not repeated";
  EXPECT_EQ(charges_of(ledger_).size(), 6U);
}

// Two processes, each with a journal of the same run: the second must not take the first one's line for its own.
TEST_F(ReleaserTest, WhatAnotherProcessHasChargedOfThisRunIsNotReleased) {
  Releaser noised = releaser(resumed_journal(ledger_));
  const std::string journal = read_bytes(journal_path(noised.run_id()));
  std::filesystem::remove(journal_path(noised.run_id()));
  put_back(journal_path(noised.run_id()), journal);  // another file: its lock is free
  Releaser other = releaser(resumed_journal(ledger_));
  ASSERT_EQ(other.run_id(), noised.run_id());
  release(noised, kCenter);
  EXPECT_THROW(other.release("center", empty_statistic(requests()[0])), ResumeMismatch);
  EXPECT_EQ(charges_of(ledger_).size(), 1U);
}

// After a change even an equal statistic is charged anew: whether it is equal is nobody's business.
TEST_F(ReleaserTest, NothingIsRepeatedAfterAChangeNorInARunThatBeganAnewBefore) {
  resume_both();
  const auto second = resume_both(0, 1);
  EXPECT_EQ(charges_of(ledger_).size(), 3U) << "the center was repeated";
  EXPECT_NE(resume_both(1, 1), second);
  EXPECT_EQ(charges_of(ledger_).size(), 5U);
}

// Killed while it went on under another id, of which only the rest of the plan was reserved.
TEST_F(ReleaserTest, ARunThatBeganAnewReservesAllThatItMayChargeWhenItIsResumed) {
  std::string killed;
  const auto run = [&](std::int64_t center_shift, std::int64_t means_shift) {
    Releaser noised = releaser(resumed_journal(ledger_));
    release_both(noised, center_shift, means_shift);
    killed = read_bytes(ledger_);
  };
  run(0, 0);
  run(0, 1);
  put_back(ledger_, killed);  // without the line that a kill leaves out
  run(1, 2);
  EXPECT_EQ(charges_of(ledger_).size(), 5U);
}

// Killed after it had another id, before that had a reservation: the one before it does not stay for ever.
TEST_F(ReleaserTest, ARunThatWasKilledWhileItBeganAnewLeavesNoReservation) {
  std::string killed;
  {
    Releaser noised = releaser(resumed_journal(ledger_), 0.9, kLimit);
    release(noised, kCenter);
    killed = read_bytes(ledger_);
  }
  put_back(ledger_, killed);
  resumed_journal(ledger_).begin_run();
  Releaser resumed = releaser(resumed_journal(ledger_), 0.5, kLimit);
  EXPECT_EQ(Ledger::read(ledger_).open_runs().size(), 1U);
  release_both(resumed);
  resumed.finish();
  EXPECT_TRUE(Ledger::read(ledger_).open_runs().empty());
}

TEST_F(ReleaserTest, ARunThatHasEndedReleasesNothing) {
  Releaser ended = releaser(RunJournal::of_ended(std::string(32, 'a')));
  EXPECT_TRUE(ended.has_ended());
  EXPECT_FALSE(std::filesystem::exists(ledger_)) << "it reserves nothing";
  EXPECT_THROW(release(ended, kCenter), ResumeMismatch);
}

TEST_F(ReleaserTest, TheRowsOfAResumedRunAreThoseThatItBeganWith) {
  const std::array<std::uint64_t, 4> rows{1, 2, 3, 4};
  const std::array<std::uint64_t, 4> others{1, 2, 3, 5};
  {
    Releaser noised = releaser(resumed_journal(ledger_));
    noised.require_same_rows(rows);
    release(noised, kCenter);
  }
  Releaser resumed = releaser(resumed_journal(ledger_));
  EXPECT_THROW(resumed.require_same_rows(others), ResumeMismatch);
  resumed.require_same_rows(rows);
}

TEST_F(ReleaserTest, TheDataSetsBudgetIsRefusedBeforeTheFirstReleaseOfARunThatWouldPassIt) {
  const auto run = [&](double mu) {
    Releaser noised = releaser(NoiseKey::from_entropy(), mu, kLimit);
    release_both(noised);
  };
  run(0.6);
  run(0.79);  // 0.6^2 + 0.79^2 = 0.9841
  EXPECT_THROW(run(0.2), BudgetRefused);
  EXPECT_EQ(charges_of(ledger_).size(), 4U) << "not even its first release is charged";
  run(0.1);
  EXPECT_LE(spending_of(charges_of(ledger_), Adjacency::kAddRemove).mu, 1.0);
}

TEST_F(ReleaserTest, AReplayIsAllowedWhenTheBudgetIsSpent) {
  for (int run = 0; run < 3; ++run) {
    Releaser noised = releaser(resumed_journal(ledger_), 0.9, kLimit);
    release_both(noised);
  }
  EXPECT_EQ(charges_of(ledger_).size(), 2U);
}

TEST_F(ReleaserTest, EveryRoundIsChargedByItselfAndHasNoiseOfItsOwn) {
  const ReleaseRequest request = registered_statistic("gradient").request({.classes = 2, .dim = 5, .rounds = 3}, 1.0);
  NoisePlan plan = make_noise_plan(1.0, Adjacency::kAddRemove, {request});
  Releaser rounds(ranks_, plan, NoiseKey::from_entropy(), {.ledger_path = ledger_.string(), .limit = kLimit},
                  sample_terms());
  std::set<std::vector<std::int64_t>> outcomes;
  for (int round = 0; round < 3; ++round) {
    outcomes.insert(values_of(rounds.release("gradient", counting_statistic(request)), "gradient"));
  }
  EXPECT_EQ(outcomes.size(), 3U);
  const auto records = charges_of(ledger_);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_TRUE(records[2].entry.release_id.ends_with("/gradient/3"));
  std::vector<double> mus;
  for (const LedgerCharge& record : records) mus.push_back(record.entry.mu);
  EXPECT_NEAR(mus[0], 1.0 / std::sqrt(3.0), 1e-12);
  EXPECT_LE(mus[0] * mus[0] + mus[1] * mus[1] + mus[2] * mus[2], 1.0 + 1e-12);
  EXPECT_THROW(rounds.release("gradient", counting_statistic(request)), std::logic_error);
}

// False alarm: each variance is within 5 standard errors but for 6e-7, twice.
TEST_F(ReleaserTest, SymmetricNoiseHasHalfTheVarianceBesideTheDiagonal) {
  constexpr std::size_t kOrder = 600;
  const ReleaseRequest request = registered_statistic("gram").request({.dim = kOrder}, 1.0);
  NoisePlan plan = make_noise_plan(1.0, Adjacency::kAddRemove, {request});
  const double sigma = plan.release("gram").block("gram").sigma;
  Releaser releaser(ranks_, plan, NoiseKey::from_seed(5), {.ledger_path = ledger_.string(), .limit = std::nullopt},
                    sample_terms());
  const auto values = values_of(releaser.release("gram", empty_statistic(request)), "gram");
  double diagonal = 0.0;
  double beside = 0.0;
  for (std::size_t i = 0; i < kOrder; ++i) {
    for (std::size_t j = i; j < kOrder; ++j) {
      const double entry = static_cast<double>(values[triangle_row(i, kOrder) + j - i]) / sigma;
      (i == j ? diagonal : beside) += entry * entry;
    }
  }
  const double besides = kOrder * (kOrder - 1) / 2.0;
  EXPECT_NEAR(diagonal / kOrder, 1.0, 5.0 * std::sqrt(2.0 / kOrder));
  EXPECT_NEAR(beside / besides, 0.5, 5.0 * 0.5 * std::sqrt(2.0 / besides));
}

// False alarm: each of three variances twice is within 5 standard errors but for 6e-7.
TEST_F(ReleaserTest, EveryTriangleOfASymmetricBlockHasItsDiagonal) {
  constexpr std::size_t kOrder = 300;
  const ReleaseRequest request = registered_statistic("newton").request({.classes = kClasses, .dim = kOrder}, 1.0);
  NoisePlan plan = make_noise_plan(1.0, Adjacency::kAddRemove, {request});
  const double sigma = plan.release("newton").block("hessians").sigma;
  Releaser releaser(ranks_, plan, NoiseKey::from_seed(6), {.ledger_path = ledger_.string(), .limit = std::nullopt},
                    sample_terms());
  const auto values = values_of(releaser.release("newton", empty_statistic(request)), "hessians");
  ASSERT_EQ(values.size(), kClasses * triangle_elements(kOrder));
  for (std::size_t c = 0; c < kClasses; ++c) {
    double diagonal = 0.0;
    double beside = 0.0;
    for (std::size_t i = 0; i < kOrder; ++i) {
      for (std::size_t j = i; j < kOrder; ++j) {
        const std::size_t place = c * triangle_elements(kOrder) + triangle_row(i, kOrder) + j - i;
        const double entry = static_cast<double>(values[place]) / sigma;
        (i == j ? diagonal : beside) += entry * entry;
      }
    }
    const auto count = static_cast<double>(triangle_elements(kOrder) - kOrder);
    EXPECT_NEAR(diagonal / kOrder, 1.0, 5.0 * std::sqrt(2.0 / kOrder));
    EXPECT_NEAR(beside / count, 0.5, 0.5 * 5.0 * std::sqrt(2.0 / count));
  }
}

// Rounds on samples. Their statistic is a function of data and coins: 100 data + the first byte of the secret.
class SampledReleaserTest : public ReleaserTest {
 protected:
  static constexpr std::uint64_t kRounds = 3;

  static ReleaseRequest all_rows() {
    return registered_statistic("gradient").request({.classes = kClasses, .dim = kDim, .rounds = kRounds}, 1.0);
  }

  static NoisePlan plan() {
    ReleaseRequest request = all_rows();
    request.sampling_rate = 0.1;
    const PrivacyBudget budget = PrivacyBudget::from_options({.epsilon = 1.0, .delta = 1e-6});
    return make_sampled_noise_plan(budget, Accountant::kRdp, Adjacency::kAddRemove, {request});
  }

  Releaser releaser(RunJournal journal, std::optional<DataSetBudget> limit = std::nullopt) {
    return Releaser(ranks_, plan(), std::move(journal), {.ledger_path = ledger_.string(), .limit = limit},
                    sample_terms());
  }

  // Of `rounds` rounds; secrets that statistics were asked of are appended to `secrets`.
  std::vector<std::vector<std::int64_t>> run(Releaser releaser, std::uint64_t rounds, std::int64_t data = 0) {
    std::vector<std::vector<std::int64_t>> released;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const Release release = releaser.release_of_sample("gradient", [&](const SecretVector<std::byte>& secret) {
        secrets_.emplace_back(reinterpret_cast<const char*>(secret.data()), secret.size());
        Statistic statistic = empty_statistic(all_rows());
        statistic.block(0)[0] = 1000 * data + std::to_integer<std::int64_t>(secret[0]);
        return statistic;
      });
      released.push_back(values_of(release, "gradient"));
    }
    return released;
  }

  std::vector<std::string> secrets_;
};

TEST_F(SampledReleaserTest, EveryRoundHasCoinsAndALedgerLineOfItsOwn) {
  run(releaser(NoiseKey::from_entropy()), kRounds);
  run(releaser(NoiseKey::from_entropy()), kRounds);
  EXPECT_EQ(std::set(secrets_.begin(), secrets_.end()).size(), 2 * kRounds);
  const std::vector<LedgerCharge> records = charges_of(ledger_);
  ASSERT_EQ(records.size(), 2 * kRounds);
  for (const LedgerCharge& record : records) EXPECT_EQ(record.entry.sampling_rate, 0.1);
  EXPECT_EQ(spending_of(records, Adjacency::kAddRemove).mu, 0.0);
}

TEST_F(SampledReleaserTest, AKilledRunIsRepeatedWithItsCoinsAndGoesOnWithNewOnes) {
  const auto before = run(releaser(resumed_journal(ledger_)), 2);
  const auto resumed = run(releaser(resumed_journal(ledger_)), kRounds);
  EXPECT_EQ(resumed[0], before[0]);
  EXPECT_EQ(resumed[1], before[1]);
  EXPECT_EQ(charges_of(ledger_).size(), kRounds);
  ASSERT_EQ(secrets_.size(), 5U);
  EXPECT_EQ(secrets_[2], secrets_[0]);
  EXPECT_EQ(secrets_[3], secrets_[1]);
  // The third run finds rounds of two runs before it.
  EXPECT_EQ(run(releaser(resumed_journal(ledger_)), kRounds), resumed);
  EXPECT_EQ(charges_of(ledger_).size(), kRounds);
}

TEST_F(SampledReleaserTest, OtherDataHaveOtherCoinsAndChargesOfTheirOwn) {
  const auto before = run(releaser(resumed_journal(ledger_)), 1);
  const auto changed = run(releaser(resumed_journal(ledger_)), 2, 1);
  EXPECT_NE(changed[0], before[0]);
  EXPECT_EQ(charges_of(ledger_).size(), 3U);
  // First the coins on file are tried, in vain; they are not asked again in the second round.
  ASSERT_EQ(secrets_.size(), 4U);
  EXPECT_EQ(secrets_[1], secrets_[0]);
  EXPECT_NE(secrets_[2], secrets_[0]);
  EXPECT_EQ(run(releaser(resumed_journal(ledger_)), 1), before) << "back to the first data: their release is on file";
  EXPECT_EQ(charges_of(ledger_).size(), 3U);
}

TEST_F(SampledReleaserTest, CoinsThatTheLedgerKnowsAreNotTossedAgainByAnOlderJournal) {
  std::string journal;
  std::string first;
  {
    Releaser begun = releaser(resumed_journal(ledger_));
    first = begun.run_id();
    journal = read_bytes(journal_path(first));
    run(std::move(begun), 1);
  }
  put_back(journal_path(first), journal);
  run(releaser(resumed_journal(ledger_)), 1, 1);
  EXPECT_EQ(charges_of(ledger_).size(), 2U);
  EXPECT_EQ(std::set(secrets_.begin(), secrets_.end()).size(), 2U);
}

TEST_F(SampledReleaserTest, AnotherRunReleasesTheSameStatisticAnew) {
  EXPECT_NE(run(releaser(NoiseKey::from_entropy()), 1), run(releaser(NoiseKey::from_entropy()), 1));
  EXPECT_EQ(charges_of(ledger_).size(), 2U);
}

TEST_F(SampledReleaserTest, ASeedRepeatsCoinsAndNoise) {
  const auto first = run(releaser(NoiseKey::from_seed(5)), kRounds);
  EXPECT_EQ(run(releaser(NoiseKey::from_seed(5)), kRounds), first);
  EXPECT_NE(run(releaser(NoiseKey::from_seed(6)), kRounds), first);
}

TEST_F(SampledReleaserTest, ARunMaySpendItsDataSetsBudgetAndNoMore) {
  const DataSetBudget limit{epsilon_of(spending_of(plan()), 1e-6), 1e-6};
  run(releaser(NoiseKey::from_entropy(), limit), kRounds);
  EXPECT_THROW(run(releaser(NoiseKey::from_entropy(), limit), 1), BudgetRefused);
  EXPECT_EQ(charges_of(ledger_).size(), kRounds);
}

TEST_F(SampledReleaserTest, ASampledReleaseIsNotMadeOfAllRows) {
  Releaser sampled = releaser(NoiseKey::from_entropy());
  EXPECT_THROW(sampled.release("gradient", empty_statistic(all_rows())), std::logic_error);
}

}  // namespace dpreduce::release_test
