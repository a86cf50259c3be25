// Runs that begin at once on one ledger, runs that are killed, and what becomes of what they have reserved.
#include <csignal>

#include "common/ledger/ledger.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::reservation_test {

const std::string kFit = "fit --train-x x.npy --train-y y.npy --classes 3 --threads 1 ";

class ReservationTest : public ProgramTest {
 protected:
  ReservationTest() { write_rows(make_rows({300, 200, 100}, 8)); }
  // Runs that begin at once, when they have ended.
  std::vector<ProgramRun> at_once(const Strings& options, bool keeps_files = false) const {
    std::vector<std::unique_ptr<RunningProgram>> running;
    for (const std::string& own : options) {
      running.push_back(std::make_unique<RunningProgram>(
          split_arguments(kFit + own), RunOptions{.folder = folder_.path(), .keeps_files = keeps_files}));
    }
    std::vector<ProgramRun> ended;
    for (const std::unique_ptr<RunningProgram>& run : running) ended.push_back(run->finish());
    return ended;
  }
  LedgerState ledger() const { return Ledger::read(folder_ / "ledger.jsonl"); }
  std::size_t charges() const { return ledger().charges().size(); }
  // No reservation, and no file of a run.
  void expect_nothing_left() const {
    EXPECT_TRUE(ledger().open_runs().empty());
    EXPECT_TRUE(run_files().empty());
  }
  // kill -9 when so many releases are charged. Returns the run's name in the ledger.
  std::string killed_after(const std::string& options, std::size_t most) const {
    RunningProgram run(split_arguments(kFit + options), {.folder = folder_.path()});
    is_so_within(30, [&] { return charges() >= most; });
    kill(run.pid(), SIGKILL);
    EXPECT_EQ(run.finish().exit_code, 128 + SIGKILL);
    const LedgerState state = ledger();
    EXPECT_EQ(state.open_runs().size(), 1U);
    return state.open_runs().empty() ? std::string() : state.open_runs().begin()->first;
  }
};

const std::string kMean = kFit + "--method mean --mu 0.2 ";
const std::string kThirtyRounds = "--method gd --rounds 30 --epsilon 0.5 --delta 1e-6 ";
const std::string kHundredsOfRounds = "--method gd --rounds 300 --epsilon 0.5 --delta 1e-6 ";
const std::string kManyRounds = "--method gd --rounds 2000 --epsilon 0.5 --delta 1e-6 ";
const std::string kLimit = "--budget-epsilon 1.1 --budget-delta 1e-6 ";

// mu of epsilon 0.5 is 0.1225, of 1.1 it is 0.2546: room for four.
TEST_F(ReservationTest, OfSixRunsAtOnceAsManyAsHaveRoomFinishAndTheOthersChargeNothing) {
  const auto output = [](std::size_t number) { return fmt::format("{}.safetensors", number); };
  Strings options;
  for (std::size_t run = 0; run < 6; ++run) options.push_back(kThirtyRounds + kLimit + "--out " + output(run));
  std::map<int, int> codes;
  const std::vector<ProgramRun> runs = at_once(options);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const int code = runs[run].exit_code;
    ++codes[code];
    EXPECT_EQ(has(output(run)), code == 0);
    EXPECT_THAT(runs[run].err, HasSubstr(code == 4 ? "budget" : ""));
  }
  EXPECT_EQ(codes, (std::map<int, int>{{0, 4}, {4, 2}}));
  EXPECT_EQ(charges(), 4U * 30U) << "nothing is charged for the refused";
  expect_nothing_left();
}

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
  EXPECT_EQ(charges(), 30U);
  EXPECT_TRUE(run_files().empty());
}

TEST_F(ReservationTest, ARunIsRefusedBeforeARowIsRead) {
  const std::string fit = kFit + "--method mean --delta 1e-6 " + kLimit;
  expect_code(fit + "--epsilon 1", 0);
  TrainingRows rows = make_rows({300, 200, 100}, 8);
  rows.features[17] = std::numeric_limits<float>::quiet_NaN();
  write_rows(rows);
  expect_code(fit + "--epsilon 1", 4);
  expect_code(fit + "--epsilon 0.1", 3);
  EXPECT_EQ(charges(), 1U);
  expect_nothing_left();
}

TEST_F(ReservationTest, OfAKilledRunIsShownAndCountsUntilItIsReleased) {
  const std::string run = killed_after(kManyRounds + kLimit, 3);
  const std::size_t charged = charges();
  ASSERT_EQ(run_files().size(), 1U);
  EXPECT_THAT(succeed("ledger show").out, HasSubstr(run));
  const std::string large = kFit + "--method mean --epsilon 1 --delta 1e-6 " + kLimit;
  // Rounds that the killed run may still charge count.
  expect_parts(expect_code(large, 4).err, {"--resume", "dpreduce ledger release " + run});
  succeed("ledger release " + run);
  EXPECT_EQ(charges(), charged) << "what was charged stays";
  expect_nothing_left();
  expect_code(large, 0);
}

TEST_F(ReservationTest, OfALivingRunIsNotReleased) {
  RunningProgram living(split_arguments(kFit + kManyRounds), {.folder = folder_.path()});
  ASSERT_TRUE(is_so_within(30, [&] { return charges() > 0; }));
  const std::string run = ledger().open_runs().begin()->first;
  expect_refusal(this->run("ledger release " + run), 3, {"still running"});
  EXPECT_EQ(ledger().open_runs().size(), 1U);
  kill(living.pid(), SIGKILL);
  living.finish();
}

TEST_F(ReservationTest, AReleasedRunIsNotResumed) {
  const std::string run = killed_after(kHundredsOfRounds, 3);
  const std::size_t charged = charges();
  succeed("ledger release " + run);
  expect_code(kFit + kHundredsOfRounds + "--resume", 0);
  EXPECT_EQ(charges(), charged + 300);
}

TEST_F(ReservationTest, AKilledRunIsGoneOnWithAndNothingThatWasSavedIsPaidForTwice) {
  const std::string run = killed_after(kHundredsOfRounds + "--budget-epsilon 1 --budget-delta 1e-6 ", 3);
  const std::string larger = "--budget-epsilon 1.5 --budget-delta 1e-6 --resume --report report.json";
  const json report = reported(kFit + kHundredsOfRounds + larger);
  const LedgerState state = ledger();
  EXPECT_LE(state.charges().size(), 301U) << "one may have been lost with its process";
  EXPECT_GE(state.charges().size(), 300U);
  EXPECT_EQ(state.outcome(run), RunOutcome::kStopped);
  expect_nothing_left();
  EXPECT_EQ(report["ledger"]["goes_on_from"], json::array({run}));
  EXPECT_EQ(report["ledger"]["run"], run_of(state.charges().back().entry.release_id));
}

TEST_F(ReservationTest, ResumingARunThatNeverBeganBegins) {
  expect_code(kFit + "--method gd --rounds 2 --mu 0.5 --resume", 0, 2);
  EXPECT_EQ(charges(), 2U);
  expect_nothing_left();
}

TEST_F(ReservationTest, ARunThatFailsSaysHowToGoOn) {
  const ProgramRun failed = expect_code(kMean + "--report /dev/full", 3);
  const LedgerState state = ledger();
  ASSERT_EQ(state.charges().size(), 1U);
  const std::string run = run_of(state.charges().front().entry.release_id);
  EXPECT_EQ(state.outcome(run), RunOutcome::kStopped);
  expect_parts(failed.err,
               {"resume it with the same command and --resume, which charges only the rest", "ledger release " + run});
  ASSERT_EQ(run_files().size(), 1U);
  const std::string file = run_files().front();
  const auto kept = content_of(folder_.path());
  for (const int mode : {0640, 0604, 0400}) {
    fs::permissions(folder_ / file, fs::perms(mode));
    expect_parts(expect_code(kMean + "--resume", 3).err, {file, "must have 0600"});
    EXPECT_TRUE(content_of(folder_.path()) == kept);
  }
  fs::permissions(folder_ / file, fs::perms(0600));
  const std::string saved = model();
  fs::remove(folder_ / "model.safetensors");
  expect_code(kMean + "--resume", 0);
  EXPECT_TRUE(model() == saved);
  EXPECT_EQ(charges(), 1U);
  expect_nothing_left();
}

}  // namespace dpreduce::reservation_test
