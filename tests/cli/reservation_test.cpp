// Runs that begin at once on one ledger, runs that are killed, and what becomes of what they have reserved.
#include <csignal>

#include <sys/stat.h>
#include <unistd.h>

#include "common/ledger/ledger.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::reservation_test {

namespace fs = std::filesystem;

class ReservationTest : public ProgramTest {
 protected:
  ReservationTest() { write_rows(make_rows({300, 200, 100}, 8)); }

  static std::vector<std::string> fit_arguments(const std::string& options) {
    return split_arguments("fit --train-x x.npy --train-y y.npy --classes 3 --threads 1 " + options);
  }

  ProgramRun fit(const std::string& options, int ranks = 0) const {
    return run_program(fit_arguments(options), {.folder = folder_.path(), .ranks = ranks});
  }

  // Runs that begin at once, when they have ended.
  std::vector<ProgramRun> at_once(const std::vector<std::string>& options, bool keeps_files = false) const {
    std::vector<std::unique_ptr<RunningProgram>> running;
    for (const std::string& own : options) {
      running.push_back(std::make_unique<RunningProgram>(
          fit_arguments(own), RunOptions{.folder = folder_.path(), .keeps_files = keeps_files}));
    }
    std::vector<ProgramRun> ended;
    for (const std::unique_ptr<RunningProgram>& run : running) ended.push_back(run->finish());
    return ended;
  }

  LedgerState ledger() const { return Ledger::read(folder_ / "ledger.jsonl"); }
  // No reservation, and no file of a run.
  void expect_nothing_left() const {
    EXPECT_TRUE(ledger().open_runs().empty());
    EXPECT_TRUE(run_files().empty());
  }

  // kill -9 when so many releases are charged. Returns the run's name in the ledger.
  std::string killed_after(const std::string& options, std::size_t charges) const {
    RunningProgram run(fit_arguments(options), {.folder = folder_.path()});
    is_so_within(30, [&] { return ledger().charges().size() >= charges; });
    kill(run.pid(), SIGKILL);
    EXPECT_EQ(run.finish().exit_code, 128 + SIGKILL);
    const LedgerState state = ledger();
    EXPECT_EQ(state.open_runs().size(), 1U);
    return state.open_runs().empty() ? std::string() : state.open_runs().begin()->first;
  }
};

const std::string kThirtyRounds = "--method gd --rounds 30 --epsilon 0.5 --delta 1e-6 ";
const std::string kManyRounds = "--method gd --rounds 2000 --epsilon 0.5 --delta 1e-6 ";
const std::string kLimit = "--budget-epsilon 1.1 --budget-delta 1e-6 ";

// mu of epsilon 0.5 is 0.1225, of 1.1 it is 0.2546: room for four.
TEST_F(ReservationTest, OfSixRunsAtOnceAsManyAsHaveRoomFinishAndTheOthersChargeNothing) {
  const auto output = [](std::size_t number) { return fmt::format("{}.safetensors", number); };
  std::vector<std::string> options;
  for (std::size_t number = 0; number < 6; ++number)
    options.push_back(kThirtyRounds + kLimit + "--out " + output(number));
  std::map<int, int> codes;
  const std::vector<ProgramRun> runs = at_once(options);
  for (std::size_t number = 0; number < runs.size(); ++number) {
    const ProgramRun& run = runs[number];
    ++codes[run.exit_code];
    EXPECT_EQ(has(output(number)), run.exit_code == 0);
    if (run.exit_code == 4) {
      EXPECT_THAT(run.err, HasSubstr("budget")) << run.err;
    }
  }
  EXPECT_EQ(codes, (std::map<int, int>{{0, 4}, {4, 2}}));
  EXPECT_EQ(ledger().charges().size(), 4U * 30U) << "nothing is charged for the refused";
  expect_nothing_left();
}

// Started at once, or while the first has not ended.
TEST_F(ReservationTest, OfFourRunsWithOneOutputOneChargesAndTheOthersChargeNothing) {
  int finished = 0;
  for (const ProgramRun& run : at_once(std::vector(4, kThirtyRounds + "--out one.safetensors"), true)) {
    finished += run.exit_code == 0 ? 1 : 0;
    if (run.exit_code == 0) continue;
    EXPECT_THAT(run.err, testing::AnyOf(HasSubstr("one.safetensors: another process is writing it"),
                                        HasSubstr("one.safetensors: already exists")));
    EXPECT_THAT(run.exit_code, testing::AnyOf(2, 3));
  }
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(ledger().charges().size(), 30U);
  EXPECT_TRUE(run_files().empty());
}

// A refused run never comes to its rows: that they are bad shows only to those that have room.
TEST_F(ReservationTest, ARunIsRefusedBeforeARowIsRead) {
  ASSERT_EQ(fit("--method mean --epsilon 1 --delta 1e-6 " + kLimit).exit_code, 0);
  TrainingRows rows = make_rows({300, 200, 100}, 8);
  rows.features[17] = std::numeric_limits<float>::quiet_NaN();
  write_rows(rows);
  EXPECT_EQ(fit("--method mean --epsilon 1 --delta 1e-6 " + kLimit).exit_code, 4);
  EXPECT_EQ(fit("--method mean --epsilon 0.1 --delta 1e-6 " + kLimit).exit_code, 3);
  EXPECT_EQ(ledger().charges().size(), 1U);
  expect_nothing_left();
}

TEST_F(ReservationTest, OfAKilledRunIsShownAndCountsUntilItIsReleased) {
  const std::string run = killed_after(kManyRounds + kLimit, 3);
  const std::size_t charged = ledger().charges().size();
  ASSERT_EQ(run_files().size(), 1U);
  EXPECT_THAT(succeed("ledger show").out, HasSubstr(run));

  const std::string large = "--method mean --epsilon 1 --delta 1e-6 " + kLimit;
  const ProgramRun refused = fit(large);
  EXPECT_EQ(refused.exit_code, 4) << "what the killed run may still charge counts";
  expect_parts(refused.err, {"--resume", "dpreduce ledger release " + run});
  succeed("ledger release " + run);
  EXPECT_EQ(ledger().charges().size(), charged) << "what was charged stays";
  expect_nothing_left();
  EXPECT_EQ(fit(large).exit_code, 0);

  // The same command is another run now.
  EXPECT_EQ(fit("--method gd --rounds 20 --epsilon 0.1 --delta 1e-6 --resume").exit_code, 0);
  EXPECT_EQ(ledger().charges().size(), charged + 1 + 20);
}

TEST_F(ReservationTest, AReleasedRunIsNotResumed) {
  const std::string options = "--method gd --rounds 300 --epsilon 0.5 --delta 1e-6 ";
  const std::string run = killed_after(options, 3);
  const std::size_t charged = ledger().charges().size();
  succeed("ledger release " + run);
  ASSERT_EQ(fit(options + "--resume").exit_code, 0);
  EXPECT_EQ(ledger().charges().size(), charged + 300);
}

TEST_F(ReservationTest, OfALivingRunIsNotReleased) {
  RunningProgram living(fit_arguments(kManyRounds), {.folder = folder_.path()});
  ASSERT_TRUE(is_so_within(30, [&] { return !ledger().charges().empty(); }));
  const std::string run = ledger().open_runs().begin()->first;
  expect_refusal(this->run("ledger release " + run), 3, {"still running"});
  EXPECT_EQ(ledger().open_runs().size(), 1U);
  kill(living.pid(), SIGKILL);
  living.finish();
}

TEST_F(ReservationTest, AKilledRunIsGoneOnWithAndNothingThatWasSavedIsPaidForTwice) {
  const std::string options = "--method gd --rounds 300 --epsilon 0.5 --delta 1e-6 ";
  const std::string run = killed_after(options + "--budget-epsilon 1 --budget-delta 1e-6 ", 3);
  ASSERT_EQ(fit(options + "--budget-epsilon 1.5 --budget-delta 1e-6 --resume --report report.json").exit_code, 0);
  const LedgerState state = ledger();
  EXPECT_LE(state.charges().size(), 301U) << "one may have been lost with its process";
  EXPECT_GE(state.charges().size(), 300U);
  EXPECT_EQ(state.outcome(run), RunOutcome::kStopped);
  expect_nothing_left();
  const json report = document("report.json");
  EXPECT_EQ(report["ledger"]["goes_on_from"], json::array({run}));
  EXPECT_EQ(report["ledger"]["run"], run_of(state.charges().back().entry.release_id));
}

// Batch systems start a job again with the very same arguments.
TEST_F(ReservationTest, ResumingARunThatNeverBeganBegins) {
  EXPECT_EQ(fit("--method mean --mu 0.5 --resume").exit_code, 0);
  EXPECT_EQ(fit("--method gd --rounds 2 --mu 0.5 --resume", 2).exit_code, 0);
  EXPECT_EQ(ledger().charges().size(), 3U);
  EXPECT_TRUE(ledger().open_runs().empty());
}

TEST_F(ReservationTest, ARunThatFailsSaysHowToGoOn) {
  const ProgramRun failed = fit("--method mean --mu 0.2 --report /dev/full");
  EXPECT_EQ(failed.exit_code, 3);
  const LedgerState state = ledger();
  ASSERT_EQ(state.charges().size(), 1U);
  const std::string run = run_of(state.charges().front().entry.release_id);
  EXPECT_EQ(state.outcome(run), RunOutcome::kStopped);
  expect_parts(failed.err,
               {"resume it with the same command and --resume, which charges only the rest", "ledger release " + run});
  ASSERT_EQ(run_files().size(), 1U);
  const std::string model = bytes("model.safetensors");
  fs::remove(folder_ / "model.safetensors");
  ASSERT_EQ(fit("--method mean --mu 0.2 --resume").exit_code, 0);
  EXPECT_TRUE(bytes("model.safetensors") == model);
  EXPECT_EQ(ledger().charges().size(), 1U);
  EXPECT_TRUE(run_files().empty());
}

TEST_F(ReservationTest, AStoppedRunIsGivenUpWithItsFile) {
  ASSERT_EQ(fit("--method mean --mu 0.2 --report /dev/full").exit_code, 3);
  const std::string run = run_of(ledger().charges().front().entry.release_id);
  succeed("ledger release " + run);
  EXPECT_TRUE(run_files().empty());
}

TEST_F(ReservationTest, AFileThatIsNotItsOwnersAloneIsRefusedByName) {
  ASSERT_EQ(fit("--method mean --mu 0.2 --report /dev/full").exit_code, 3);
  const std::string file = run_files().at(0);
  const auto expect_refused = [&](const std::string& reason) {
    const auto before = content_of(folder_.path());
    const ProgramRun run = fit("--method mean --mu 0.2 --resume");
    EXPECT_EQ(run.exit_code, 3);
    expect_parts(run.err, {file, reason});
    EXPECT_TRUE(content_of(folder_.path()) == before);
  };
  for (const mode_t mode : {0640U, 0604U, 0400U}) {
    ASSERT_EQ(chmod((folder_ / file).c_str(), mode), 0);
    expect_refused("must have 0600");
  }
  ASSERT_EQ(chmod((folder_ / file).c_str(), 0600), 0);
  if (geteuid() != 0) GTEST_SKIP() << "only root may give a file away";
  ASSERT_EQ(chown((folder_ / file).c_str(), 12345, 12345), 0);
  expect_refused("another user");
}

}  // namespace dpreduce::reservation_test
