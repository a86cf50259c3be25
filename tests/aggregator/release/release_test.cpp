#include "aggregator/release/release.hpp"

#include <csignal>
#include <cstdlib>

#include "common/accounting/gaussian_dp.hpp"
#include "common/base/error.hpp"
#include "common/ledger/spending.hpp"
#include "common/ledger/statistic.hpp"
#include "common/ledger/triangle.hpp"
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

  Releaser releaser(RunFile file = RunFile(), double mu = 1.0, std::optional<DataSetBudget> limit = std::nullopt,
                    std::optional<std::uint64_t> seed = std::nullopt) {
    return Releaser(ranks_, make_noise_plan(mu, Adjacency::kAddRemove, requests()), std::move(file),
                    {.ledger_path = ledger_.string(), .limit = limit, .seed = seed}, sample_terms());
  }

  static std::vector<std::int64_t> values_of(const Release& release, std::string_view block) {
    const auto values = release.block(block).values();
    return {values.begin(), values.end()};
  }

  // A statistic whose element e of every block is e.
  static Statistic counting_statistic(const ReleaseRequest& request) {
    Statistic statistic = empty_statistic(request);
    for (std::size_t b = 0; b < statistic.shape().size(); ++b) {
      std::iota(statistic.block(b).begin(), statistic.block(b).end(), 0);
    }
    return statistic;
  }

  // In a process of its own, whose exit code `action` returns.
  static int in_child(const std::function<int()>& action) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(action());
    int status = 1;
    ::waitpid(child, &status, 0);
    return status;
  }

  static constexpr std::size_t kCenter = 0;  // of the plan's releases
  static constexpr std::size_t kMeans = 1;

  // Takes that release of the plan where it is saved, else makes it, of a counting statistic to an element of which
  // `shift` is added.
  static std::vector<std::int64_t> release(Releaser& releaser, std::size_t which, std::int64_t shift = 0) {
    const ReleaseRequest request = requests()[which];
    if (auto saved = releaser.saved(request.name)) {
      return values_of(releaser.release_of(request.name, std::move(*saved)), request.blocks[0].name);
    }
    Statistic statistic = counting_statistic(request);
    statistic.block(0)[17] += shift;
    return values_of(releaser.release(request.name, std::move(statistic)), request.blocks[0].name);
  }
  // Both of them; returns the means.
  static std::vector<std::int64_t> release_both(Releaser& releaser) {
    release(releaser, kCenter);
    return release(releaser, kMeans);
  }

  static int equal_entries(const std::vector<std::int64_t>& one, const std::vector<std::int64_t>& other) {
    return std::inner_product(one.begin(), one.end(), other.begin(), 0, std::plus(),
                              [](std::int64_t a, std::int64_t b) { return a == b ? 1 : 0; });
  }

  std::filesystem::path file_of(const std::string& run_id) const {
    return ledger_.string() + "." + run_id + ".releases";
  }

  // Of a run that goes on where there is one, and makes those of its releases. What they saved is gone.
  void lose(const std::vector<std::size_t>& kept, const std::vector<std::size_t>& lost, double mu = 1.0,
            std::optional<DataSetBudget> limit = std::nullopt) {
    Releaser noised = releaser(resumed_file(ledger_), mu, limit);
    for (const std::size_t which : kept) release(noised, which);
    const std::filesystem::path file = file_of(noised.run().run_id());
    const std::string earlier = read_bytes(file);
    for (const std::size_t which : lost) release(noised, which);
    write_bytes(file, earlier);
    std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }

  Communicator ranks_ = Communicator::join();
  const TemporaryFolder folder_;
  const std::filesystem::path ledger_ = folder_ / "ledger";
};

TEST_F(ReleaserTest, NonPrivateReleaseIsTheExactSum) {
  const Statistic exact = counting_statistic(requests()[kMeans]);
  const Release release = Releaser(ranks_).release("class_means", counting_statistic(requests()[kMeans]));
  EXPECT_TRUE(std::ranges::equal(release.block("class_sums").values(), exact.block(exact.index_of("class_sums"))));
  EXPECT_EQ(release.block("class_sums").sigma(), 0.0);
}

// Its plan is reserved with the first release, and not before that, when its rows may still be refused.
TEST_F(ReleaserTest, EveryReleaseIsChargedBeforeItIsMade) {
  Releaser noised = releaser();
  EXPECT_TRUE(Ledger::read(ledger_).open_runs().empty());
  release(noised, kCenter);
  ASSERT_EQ(charges_of(ledger_).size(), 1U);
  ASSERT_EQ(Ledger::read(ledger_).open_runs().size(), 1U);
  EXPECT_EQ(Ledger::read(ledger_).open_run(noised.run().run_id())->remains.releases.size(), 1U);
  EXPECT_THROW(release(noised, kCenter), std::logic_error) << "a second one of the same plan";
  EXPECT_THROW(noised.finish(), std::logic_error) << "it has not charged its plan";
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
  EXPECT_THROW(releaser(), BadInput);
}

// Zero statistics: what is released is the noise. With sigma above 6e4, two independent values are equal with
// probability below 5e-6; of the 5600 pairs compared fewer than five are equal but with probability 1e-10.
TEST_F(ReleaserTest, NoiseIsSharedByNoTwoBlocksClassesOrRuns) {
  std::vector<std::vector<std::int64_t>> streams;
  for (int run = 0; run < 2; ++run) {
    Releaser noised = releaser(RunFile(), 0.5);
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
      equal += equal_entries(streams[first], streams[second]);
    }
  }
  EXPECT_LT(equal, 5);
  EXPECT_EQ(charges_of(ledger_).size(), 4U) << "another run never replays";
}

TEST_F(ReleaserTest, ASeedRepeatsTheNoiseAndSaysSoInTheLedger) {
  std::vector<std::vector<std::int64_t>> runs;
  for (int run = 0; run < 2; ++run) {
    Releaser noised = releaser(RunFile(), 1.0, std::nullopt, 11);
    runs.push_back(values_of(noised.release("class_means", empty_statistic(requests()[1])), "class_sums"));
  }
  EXPECT_EQ(runs[0], runs[1]);
  for (const LedgerCharge& record : charges_of(ledger_)) EXPECT_FALSE(record.entry.terms.is_private);
}

// And so does one that goes on from that one.
TEST_F(ReleaserTest, ARunThatGoesOnTakesWhatIsSavedAndPaysForTheRest) {
  std::string run;
  std::vector<std::int64_t> center;
  std::vector<std::int64_t> means;
  {
    Releaser first = releaser(resumed_file(ledger_));
    center = release(first, kCenter);
    run = first.run().run_id();
  }
  EXPECT_EQ(Ledger::read(ledger_).outcome(run), RunOutcome::kStopped);
  {
    Releaser second = releaser(resumed_file(ledger_));
    EXPECT_NE(second.run().run_id(), run) << "each process is a run of its own";
    EXPECT_EQ(second.run().runs_before(), std::vector{run});
    EXPECT_EQ(release(second, kCenter, 5), center) << "whatever its rows are";
    EXPECT_EQ(charges_of(ledger_).size(), 1U);
    means = release(second, kMeans);
    EXPECT_EQ(charges_of(ledger_).size(), 2U);
    EXPECT_TRUE(second.lost().empty());
  }
  Releaser third = releaser(resumed_file(ledger_));
  EXPECT_EQ(third.run().runs_before().size(), 2U);
  EXPECT_EQ(release(third, kCenter), center);
  EXPECT_EQ(release(third, kMeans), means);
  third.finish();
  EXPECT_EQ(charges_of(ledger_).size(), 2U);
  EXPECT_TRUE(Ledger::read(ledger_).open_runs().empty());
  EXPECT_EQ(folder_.names().size(), 2U) << "ledger and key";
}

// The process died between charge and record, or the file was put back as it was earlier: nobody has seen what it
// lacks, it counts, and it is made again. A run that finishes leaves no file and no reservation.
TEST_F(ReleaserTest, WhatWasChargedAndIsNotSavedIsLostAndPaidForAgain) {
  for (const std::size_t which : {kCenter, kMeans}) {
    remove_ledger(ledger_);
    lose(which == kMeans ? std::vector{kCenter} : std::vector<std::size_t>(), {which});
    Releaser resumed = releaser(resumed_file(ledger_));
    EXPECT_EQ(resumed.lost(), std::vector{requests()[which].name});
    release_both(resumed);
    EXPECT_EQ(charges_of(ledger_).size(), 3U);
    EXPECT_TRUE(resumed.can_be_resumed());
    resumed.finish();
    EXPECT_FALSE(resumed.can_be_resumed());
    const LedgerState state = Ledger::read(ledger_);
    EXPECT_TRUE(state.open_runs().empty());
    EXPECT_EQ(state.outcome(resumed.run().run_id()), RunOutcome::kFinished);
    EXPECT_FALSE(RunFile::of_run(ledger_, resumed.run().run_id()).has_value());
  }
}

TEST_F(ReleaserTest, ADecisionIsTakenAsItWasSaved) {
  const auto decide = [&](double now) {
    Releaser noised = releaser(resumed_file(ledger_));
    release(noised, kCenter);
    return noised.decision("branch", [&] { return now; });
  };
  EXPECT_EQ(decide(0.25), 0.25);
  EXPECT_EQ(decide(7.0), 0.25) << "another processor may decide otherwise";
  EXPECT_EQ(charges_of(ledger_).size(), 1U);
}

// What fails after the first noise may follow from a value: it is paid for before anybody hears of it.
TEST_F(ReleaserTest, AnErrorBetweenNoiseAndChargeIsChargedFirst) {
  Releaser noised = releaser();
  const auto fail = [](PartRelease&) -> NamedIntegers { throw BadInput("of a value"); };
  EXPECT_THROW(noised.release_in_parts("center", 0, fail), BadInput);
  EXPECT_EQ(charges_of(ledger_).size(), 1U);
}

// Both processes go on with the same object, and each draws anew.
TEST_F(ReleaserTest, AForkBetweenReleasesSharesNoNoise) {
  Releaser noised = releaser();
  release(noised, kCenter);
  const std::string other = folder_ / "of the child";
  in_child([&]() -> int {
    Releaser own = releaser();
    release(own, kCenter);
    const auto values = release(own, kMeans);
    write_bytes(other, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]});
    ::_exit(0);  // no destructor runs
  });
  const auto values = release(noised, kMeans);
  const std::string bytes = read_bytes(other);
  ASSERT_EQ(bytes.size(), values.size() * sizeof values[0]);
  std::vector<std::int64_t> of_child(values.size());
  std::memcpy(of_child.data(), bytes.data(), bytes.size());
  EXPECT_LT(equal_entries(values, of_child), 5);
}

TEST_F(ReleaserTest, AKeyDrawsEachPartOnceAndInItsOwnProcess) {
  ReleaseKey key(std::nullopt, "center");
  key.stream("row_sum/whole");
  EXPECT_THROW(key.stream("row_sum/whole"), std::logic_error);
  const auto draw_another = [&] {
    return refusal<std::logic_error>([&] { key.stream("row_sum/another"); }).empty() ? 1 : 0;
  };
  EXPECT_EQ(in_child(draw_another), 0);
}

TEST_F(ReleaserTest, ASignalSaysWhatIsChargedAndHowToGoOn) {
  const auto interrupted_run = [&] {
    Releaser noised = releaser(resumed_file(ledger_));
    release(noised, kCenter);
    std::raise(SIGINT);
    return 0;
  };
  EXPECT_EXIT(std::exit(run_guarded(interrupted_run, []() noexcept {})), testing::ExitedWithCode(130),
              "interrupted.*\n.*has charged 1 release of 2; the others stay reserved: resume it with the same "
              "command and --resume, which charges only the rest, or give it up: .*dpreduce ledger release [0-9a-f]* "
              "--ledger ");
}

// A run that goes on and is refused before it charges anything more gives nothing back: what it had reserved was given
// back when it stopped, or stays reserved where it was killed.
TEST_F(ReleaserTest, OnlyARunThatHasChargedHereSaysThatSomethingIsGivenBack) {
  {
    Releaser stopped = releaser(resumed_file(ledger_));
    release(stopped, kCenter);
    EXPECT_THAT(stopped.run().way_to_resume(),
                HasSubstr("has charged 1 release of 2; the reservation of the others is released: "));
  }
  EXPECT_THAT(releaser(resumed_file(ledger_)).run().way_to_resume(),
              HasSubstr("has charged 1 release of 2: resume it with the same"));
  remove_ledger(ledger_);
  in_child([&]() -> int {
    Releaser killed = releaser(resumed_file(ledger_));
    release(killed, kCenter);
    ::_exit(0);  // no destructor runs
  });
  EXPECT_THAT(releaser(resumed_file(ledger_)).run().way_to_resume(),
              HasSubstr("has charged 1 release of 2; the others stay reserved: "));
}

TEST_F(ReleaserTest, AReleaseThatIsNotMadeIsChargedOnceAsPlanned) {
  {
    Releaser noised = releaser();
    release_both(noised);
    noised.finish();
  }
  for (const bool is_first : {true, false}) {  // the second goes on with the first
    Releaser noised = releaser(resumed_file(ledger_));
    release(noised, kCenter);
    noised.charge_unmade("class_means");
    const std::vector<LedgerCharge> charges = charges_of(ledger_);
    ASSERT_EQ(charges.size(), 4U) << is_first;
    LedgerEntry unmade = charges[3].entry;
    unmade.release_id = charges[1].entry.release_id;
    EXPECT_EQ(unmade, charges[1].entry);
    if (is_first) {
      EXPECT_THROW(noised.charge_unmade("class_means"), std::logic_error);
    }
  }
}

TEST_F(ReleaserTest, ARunThatEndsGivesBackWhatItNeverBegan) {
  std::string run;
  {
    Releaser noised = releaser(resumed_file(ledger_), 0.9, kLimit);
    release(noised, kCenter);
    run = noised.run().run_id();
    EXPECT_THROW(releaser(RunFile(), 0.9, kLimit), BudgetRefused) << "it is reserved";
  }
  EXPECT_EQ(Ledger::read(ledger_).outcome(run), RunOutcome::kStopped);
  EXPECT_TRUE(RunFile::of_run(ledger_, run).has_value()) << "a run may go on with it";
  Releaser next = releaser(RunFile(), 0.9, kLimit);
}

// Its rows may have been refused: readers of the ledger are not to know. A run that is refused leaves nothing either.
TEST_F(ReleaserTest, ARunThatChargedNothingLeavesNoLineAndNoFile) {
  EXPECT_THROW(releaser(resumed_file(ledger_), 1.1, kLimit), BudgetRefused);
  EXPECT_FALSE(std::filesystem::exists(ledger_));
  EXPECT_TRUE(resumed_file(ledger_).is_new());
  std::string run;
  {
    Releaser noised = releaser(resumed_file(ledger_));
    run = noised.run().run_id();
    EXPECT_FALSE(std::filesystem::exists(ledger_));
  }
  EXPECT_FALSE(std::filesystem::exists(ledger_));
  EXPECT_FALSE(RunFile::of_run(ledger_, run).has_value());
}

// Who loses the race for the budget loses a pass over its rows.
TEST_F(ReleaserTest, RoomThatAnotherRunHasTakenSinceIsRefusedWithTheFirstCharge) {
  Releaser first = releaser(RunFile(), 0.9, kLimit);
  std::string run;
  {
    Releaser second = releaser(resumed_file(ledger_), 0.9, kLimit);
    run = second.run().run_id();
    release(first, kCenter);
    EXPECT_THROW(release(second, kCenter), BudgetRefused);
  }
  EXPECT_FALSE(RunFile::of_run(ledger_, run).has_value());
  const LedgerState state = Ledger::read(ledger_);
  EXPECT_EQ(state.charges().size(), 1U);
  EXPECT_EQ(state.open_runs().size(), 1U);
  EXPECT_TRUE(state.open_runs().contains(first.run().run_id()));
}

TEST_F(ReleaserTest, ARunThatWasReleasedWhileItLivedChargesNothingMore) {
  Releaser noised = releaser();
  release(noised, kCenter);
  Ledger(ledger_).end(noised.run().run_id(), RunOutcome::kReleased);
  EXPECT_THROW(release(noised, kMeans), BudgetRefused);
  EXPECT_EQ(charges_of(ledger_).size(), 1U);
}

TEST_F(ReleaserTest, AFileWithoutItsLinesIsRefused) {
  {
    Releaser noised = releaser(resumed_file(ledger_));
    release(noised, kCenter);
  }
  const auto other = folder_ / "other";
  std::string run;
  {
    Releaser elsewhere(ranks_, make_noise_plan(1.0, Adjacency::kAddRemove, requests()), resumed_file(other),
                       {.ledger_path = other}, sample_terms());
    release(elsewhere, kCenter, 1);
    run = elsewhere.run().run_id();
  }
  std::filesystem::rename(other + "." + run + ".releases", file_of(run));
  std::optional<RunFile> moved = RunFile::of_run(ledger_, run);
  ASSERT_TRUE(moved.has_value());
  EXPECT_THROW(releaser(std::move(*moved)), ResumeMismatch);
}

TEST_F(ReleaserTest, TheDataSetsBudgetIsRefusedBeforeTheFirstReleaseOfARunThatWouldPassIt) {
  const auto run = [&](double mu) {
    Releaser noised = releaser(RunFile(), mu, kLimit);
    release_both(noised);
  };
  run(0.6);
  run(0.79);  // 0.6^2 + 0.79^2 = 0.9841
  EXPECT_THROW(run(0.2), BudgetRefused);
  EXPECT_EQ(charges_of(ledger_).size(), 4U) << "not even its first release is charged";
  run(0.1);
  EXPECT_LE(spending_of(charges_of(ledger_), Adjacency::kAddRemove).mu, 1.0);
}

TEST_F(ReleaserTest, WhatIsSavedIsTakenWhenTheBudgetIsSpent) {
  for (int run = 0; run < 3; ++run) {
    Releaser noised = releaser(resumed_file(ledger_), 0.9, kLimit);
    release_both(noised);
  }
  EXPECT_EQ(charges_of(ledger_).size(), 2U);
}

TEST_F(ReleaserTest, ToMakeAReleaseAgainThereMustBeRoom) {
  lose({}, {kCenter, kMeans}, 0.9, kLimit);
  EXPECT_THROW(releaser(resumed_file(ledger_), 0.9, kLimit), BudgetRefused);
  EXPECT_EQ(charges_of(ledger_).size(), 2U);
}

TEST_F(ReleaserTest, EveryRoundIsChargedByItselfAndHasNoiseOfItsOwn) {
  const ReleaseRequest request = registered_statistic("gradient").request({.classes = 2, .dim = 5, .rounds = 3}, 1.0);
  NoisePlan plan = make_noise_plan(1.0, Adjacency::kAddRemove, {request});
  Releaser rounds(ranks_, plan, RunFile(), {.ledger_path = ledger_.string(), .limit = kLimit}, sample_terms());
  std::set<std::vector<std::int64_t>> outcomes;
  for (int round = 0; round < 3; ++round) {
    outcomes.insert(values_of(rounds.release("gradient", counting_statistic(request)), "gradient"));
  }
  EXPECT_EQ(outcomes.size(), 3U);
  const auto records = charges_of(ledger_);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_TRUE(records[2].entry.release_id.ends_with("/gradient/3"));
  EXPECT_NEAR(records[0].entry.mu, 1.0 / std::sqrt(3.0), 1e-12);
  double squares = 0.0;
  for (const LedgerCharge& record : records) squares += record.entry.mu * record.entry.mu;
  EXPECT_LE(squares, 1.0 + 1e-12);
  EXPECT_THROW(rounds.release("gradient", counting_statistic(request)), std::logic_error);
}

// False alarm: each of two variances of each of five triangles is within 5 standard errors but for 6e-7.
TEST_F(ReleaserTest, SymmetricNoiseHasHalfTheVarianceBesideEveryDiagonal) {
  for (const auto& [statistic, block, order, triangles, seed] : {std::tuple{"gram", "gram", 600, std::size_t{1}, 5U},
                                                                 {"pca", "gram", 600, 1, 7U},
                                                                 {"newton", "hessians", 300, kClasses, 6U}}) {
    SCOPED_TRACE(statistic);
    const auto dim = static_cast<std::size_t>(order);
    const ReleaseRequest request = registered_statistic(statistic).request({.classes = kClasses, .dim = dim}, 1.0);
    NoisePlan plan = make_noise_plan(1.0, Adjacency::kAddRemove, {request});
    const double sigma = plan.release(statistic).block(block).sigma;
    Releaser releaser(ranks_, plan, RunFile(), {.ledger_path = ledger_.string(), .seed = seed}, sample_terms());
    const auto values = values_of(releaser.release(statistic, empty_statistic(request)), block);
    ASSERT_EQ(values.size(), triangles * triangle_elements(dim));
    auto value = values.begin();
    for (std::size_t c = 0; c < triangles; ++c) {
      double diagonal = 0.0;
      double beside = 0.0;
      for (std::size_t i = 0; i < dim; ++i) {
        for (std::size_t j = i; j < dim; ++j) {
          (i == j ? diagonal : beside) += std::pow(static_cast<double>(*value++) / sigma, 2);
        }
      }
      const double besides = order * (order - 1.0) / 2.0;
      EXPECT_NEAR(diagonal / order, 1.0, 5.0 * std::sqrt(2.0 / order)) << c;
      EXPECT_NEAR(beside / besides, 0.5, 5.0 * 0.5 * std::sqrt(2.0 / besides)) << c;
    }
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
    const BudgetOptions budget{{.epsilon = 1.0, .delta = 1e-6}, Accountant::kRdp};
    return make_sampled_noise_plan(budget, Adjacency::kAddRemove, {request});
  }

  Releaser releaser(RunFile file = RunFile(), std::optional<DataSetBudget> limit = std::nullopt,
                    std::optional<std::uint64_t> seed = std::nullopt) {
    return Releaser(ranks_, plan(), std::move(file), {.ledger_path = ledger_.string(), .limit = limit, .seed = seed},
                    sample_terms());
  }

  // Of `rounds` rounds; secrets that statistics were made of are appended to `secrets`.
  std::vector<std::vector<std::int64_t>> run(Releaser releaser, std::uint64_t rounds, std::int64_t data = 0) {
    std::vector<std::vector<std::int64_t>> released;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      if (auto saved = releaser.saved("gradient")) {
        released.push_back(values_of(releaser.release_of("gradient", std::move(*saved)), "gradient"));
        continue;
      }
      const SecretVector<std::byte> secret = releaser.sample_secret("gradient");
      secrets_.emplace_back(reinterpret_cast<const char*>(secret.data()), secret.size());
      Statistic statistic = empty_statistic(all_rows());
      statistic.block(0)[0] = 1000 * data + std::to_integer<std::int64_t>(secret[0]);
      released.push_back(values_of(releaser.release("gradient", std::move(statistic)), "gradient"));
    }
    return released;
  }

  std::vector<std::string> secrets_;
};

TEST_F(SampledReleaserTest, EveryRoundHasCoinsAndALedgerLineOfItsOwn) {
  run(releaser(), kRounds);
  run(releaser(), kRounds);
  EXPECT_EQ(std::set(secrets_.begin(), secrets_.end()).size(), 2 * kRounds);
  const std::vector<LedgerCharge> records = charges_of(ledger_);
  ASSERT_EQ(records.size(), 2 * kRounds);
  for (const LedgerCharge& record : records) EXPECT_EQ(record.entry.sampling_rate, 0.1);
  EXPECT_EQ(spending_of(records, Adjacency::kAddRemove).mu, 0.0);
}

TEST_F(SampledReleaserTest, AKilledRunsRoundsAreTakenAndTheRestHasNewCoins) {
  const auto before = run(releaser(resumed_file(ledger_)), 2);
  const auto resumed = run(releaser(resumed_file(ledger_)), kRounds, 1);
  EXPECT_EQ(resumed[0], before[0]);
  EXPECT_EQ(resumed[1], before[1]);
  EXPECT_EQ(charges_of(ledger_).size(), kRounds);
  EXPECT_EQ(std::set(secrets_.begin(), secrets_.end()).size(), kRounds) << "none is tossed again";
}

TEST_F(SampledReleaserTest, ASeedRepeatsCoinsAndNoise) {
  const auto first = run(releaser(RunFile(), std::nullopt, 5), kRounds);
  EXPECT_EQ(run(releaser(RunFile(), std::nullopt, 5), kRounds), first);
  EXPECT_NE(run(releaser(RunFile(), std::nullopt, 6), kRounds), first);
}

TEST_F(SampledReleaserTest, ARunMaySpendItsDataSetsBudgetAndNoMore) {
  const DataSetBudget limit{epsilon_of(spending_of(plan()), 1e-6), 1e-6};
  run(releaser(RunFile(), limit), kRounds);
  EXPECT_THROW(run(releaser(RunFile(), limit), 1), BudgetRefused);
  EXPECT_EQ(charges_of(ledger_).size(), kRounds);
}

TEST_F(SampledReleaserTest, ASampledReleaseIsNotMadeOfAllRows) {
  Releaser sampled = releaser();
  EXPECT_THROW(sampled.release("gradient", empty_statistic(all_rows())), std::logic_error);
}

}  // namespace dpreduce::release_test
