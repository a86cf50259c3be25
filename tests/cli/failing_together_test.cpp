// A rank that is lost, a signal, a bad row on one rank: all end soon, with one message, and nothing is left.
//
// A process is caught in the middle of its pass over the rows by looking at how much of its mapped file it has read,
// and held there with SIGSTOP, so that no test depends on how fast the machine is. A run that ends before it is caught
// is repeated.
#include <csignal>

#include <unistd.h>

#include "common/model/classifier_file.hpp"
#include "tests/cli/process_watch.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::failing_together_test {

constexpr int kRanks = 3;
constexpr int kMostAttempts = 50;
constexpr useconds_t kPollMicroseconds = 200;
// More than the kernel maps around one touched page: the pass has begun.
constexpr std::size_t kBytesOfAPass = std::size_t{512} << 10;

struct CaughtRun {
  std::unique_ptr<RunningProgram> program;
  pid_t worker = -1;  // stopped, in the middle of its rows
};

class FailingTogetherTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() {
    data_ = std::make_unique<TemporaryFolder>();
    const char* synth = "synth --kind gaussian-mixture --rows 90000 --dim 256 --classes 10 --test-rows 0 --out .";
    const ProgramRun run = run_program(split_arguments(synth), {.folder = data_->path()});
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  static void TearDownTestSuite() { data_.reset(); }

  // Starts a fit and stops a process of it that is reading its rows: the worker of a rank, or the program itself.
  CaughtRun start_and_catch(int ranks, int rank, const std::string& further = {}) const {
    const std::string features = *data_ / "train_x.npy";
    const std::vector<std::string> fit = split_arguments(
        fmt::format("fit --classes 10 --mu 1 --center dp --memory 1 --threads 1 --report report.json --train-x {} "
                    "--train-y {} {}",
                    features, *data_ / "train_y.npy", further));
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      CaughtRun caught;
      caught.program = std::make_unique<RunningProgram>(
          fit, RunOptions{.folder = folder_.path(),
                          .ranks = ranks,
                          .form = Form::kProgram,
                          .environment = {{"OMPI_MCA_odls_base_sigkill_timeout", "1"}}});  // seconds, as users have it
      const pid_t launched = caught.program->pid();
      const std::string& mark = caught.program->mark();
      const double give_up = seconds_now() + 30.0;
      while (seconds_now() < give_up && !has_ended(launched)) {
        if (caught.worker < 0) caught.worker = ranks == 0 ? launched : worker_of_rank(mark, rank).value_or(-1);
        if (caught.worker > 0 && bytes_read_of(caught.worker, features) > kBytesOfAPass) {
          ::kill(caught.worker, SIGSTOP);
          if (bytes_read_of(caught.worker, features) > 0) return caught;
          break;
        }
        ::usleep(kPollMicroseconds);
      }
      caught.program.reset();
      forget_runs();
    }
    throw std::runtime_error(fmt::format("no run could be caught in {} attempts", kMostAttempts));
  }

  // Without taking the exit status that finish() wants.
  static bool has_ended(pid_t process) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  }

  // Expects that the run ends soon, and prints nothing.
  static ProgramRun finish_soon(RunningProgram& program) {
    const double signaled = seconds_now();
    ProgramRun run = program.finish();
    EXPECT_LT(seconds_now() - signaled, kSecondsToEnd);
    EXPECT_EQ(run.out, "");
    EXPECT_TRUE(all_gone(program.mark(), kSecondsToEnd)) << "processes remain";
    return run;
  }

  // Removes what a run before has left: of a release the next run would speak.
  void forget_runs() const {
    for (const std::string& name : folder_.names()) std::filesystem::remove(folder_ / name);
  }

  // A release that was made before the end is on record, and its file serves the next start. Nothing else.
  void expect_nothing_left() const {
    for (const std::string& name : folder_.names()) {
      EXPECT_THAT(name, testing::AnyOf("ledger.jsonl", "ledger.jsonl.signing-key", testing::EndsWith(".releases")));
    }
  }
  std::size_t charges_on_file() const { return has("ledger.jsonl") ? charges_in(bytes("ledger.jsonl")).size() : 0; }

  // One message. Where something was charged, the coordinator may have time to say how to go on as well.
  void expect_lost(const ProgramRun& run, int rank) const {
    EXPECT_EQ(run.exit_code, 5) << run.err;
    const std::vector<std::string> messages = messages_in(run.err);
    const bool has_charged = charges_on_file() > 0;
    ASSERT_THAT(messages.size(), AllOf(testing::Ge(1u), testing::Le(has_charged ? 2u : 1u))) << run.err;
    EXPECT_THAT(messages.front(), StartsWith("dpreduce: rank " + std::to_string(rank) + " was lost"));
    if (messages.size() == 2) {
      EXPECT_THAT(messages.back(), AllOf(HasSubstr("has charged"), HasSubstr("--resume, which charges only the rest")));
    }
    expect_nothing_left();
  }

  // Rows of a rank's own, and a fit of all of them.
  void write_part(const TrainingRows& rows, std::size_t rank) const {
    write_npy(rows, parts_ / numbered_npy("x", rank), parts_ / numbered_npy("y", rank));
  }
  // Expects one line with this, and no charge.
  void expect_bad_row(const std::string& options, const std::string& said) const {
    const ProgramRun run =
        run_with({.ranks = kRanks, .form = Form::kProgram},
                 fmt::format("fit --classes 3 --mu 1 --train-x {0}/x{{rank}}.npy --train-y {0}/y{{rank}}.npy {1}",
                             parts_.path(), options));
    expect_refusal(run, 3, {said});
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
    EXPECT_LT(run.seconds, kSecondsToEnd);
    expect_nothing_left();
    EXPECT_EQ(charges_on_file(), 0U);
  }

  static std::unique_ptr<TemporaryFolder> data_;
  const TemporaryFolder parts_;
};

std::unique_ptr<TemporaryFolder> FailingTogetherTest::data_;

TEST_F(FailingTogetherTest, AKilledRankEndsTheJobAlsoWhereAnotherHangs) {
  for (const auto& [stopped, killed] : {std::pair{0, 0}, {1, 1}, {2, 2}, {2, 1}}) {
    SCOPED_TRACE(fmt::format("rank {} is stopped, {} killed", stopped, killed));
    forget_runs();
    const CaughtRun caught = start_and_catch(kRanks, stopped);
    const std::optional<pid_t> process = worker_of_rank(caught.program->mark(), killed);
    ASSERT_TRUE(process.has_value());  // it waits for the stopped one, or is it
    ::kill(*process, SIGKILL);
    expect_lost(finish_soon(*caught.program), killed);
  }
}

TEST_F(FailingTogetherTest, AKilledGuardTakesItsWorkerAlong) {
  const CaughtRun caught = start_and_catch(kRanks, 1);
  for (const ProcessEntry& process : processes_with(caught.program->mark())) {
    if (process.pid == caught.worker) ::kill(process.parent, SIGKILL);
  }
  EXPECT_NE(finish_soon(*caught.program).exit_code, 0);  // 128 + 9: the launcher saw the kill itself
  expect_nothing_left();
}

TEST_F(FailingTogetherTest, SignalsEndARunThatIsAlone) {
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, {SIGTERM, 143}}) {
    SCOPED_TRACE(strsignal(signal));
    forget_runs();
    const CaughtRun caught = start_and_catch(0, 0);
    ::kill(caught.worker, signal);
    ::kill(caught.worker, SIGCONT);
    const ProgramRun run = finish_soon(*caught.program);
    EXPECT_EQ(run.exit_code, code);
    const std::vector<std::string> said = messages_in(run.err);
    ASSERT_FALSE(said.empty());
    EXPECT_THAT(said.front(), HasSubstr("interrupted"));
    if (charges_on_file() > 0) {
      EXPECT_THAT(said.back(), AllOf(AnyOf(HasSubstr("has charged"), HasSubstr("may have charged")),
                                     HasSubstr("--resume, which charges only the rest")));
    }
    expect_nothing_left();
  }
}

TEST_F(FailingTogetherTest, SignalsEndAJob) {
  // The launcher wakes the stopped process and gives the job a second to end. Scores of so many classes take longer.
  const std::string long_test =
      "--classes 8000 --test-x " + (*data_ / "train_x.npy") + " --test-y " + (*data_ / "train_y.npy");
  for (const int signal : {SIGINT, SIGTERM}) {
    SCOPED_TRACE(strsignal(signal));
    const CaughtRun caught = start_and_catch(kRanks, 1, long_test);
    ::kill(caught.program->pid(), signal);
    EXPECT_NE(finish_soon(*caught.program).exit_code, 0);
    // The model is kept as soon as it has been paid for, before it is tested: whole, or not at all.
    const std::string model = folder_ / "model.safetensors";
    if (std::filesystem::exists(model)) {
      EXPECT_EQ(load_classifier(model).classes(), 8000u);
    }
    std::filesystem::remove(model);
    expect_nothing_left();
  }
}

TEST_F(FailingTogetherTest, ABadRowOfOneRankEndsAll) {
  TrainingRows rows = make_rows({10000, 10000, 10000}, 128);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    if (rank == kRanks - 1) rows.features[17 * rows.dim + 5] = std::numeric_limits<float>::quiet_NaN();
    write_part(rows, rank);
  }
  for (const std::string metric : {"cosine", "euclidean"}) {
    expect_bad_row("--method mean --memory 1 --metric " + metric, "x2.npy: row 17");
  }
}

TEST_F(FailingTogetherTest, AUsageErrorIsToldHoweverLateTheFirstRankStarts) {
  const ProgramRun run = run_with({.ranks = kRanks, .first_rank_late_seconds = 0.5}, "fit --classes 10 --mu");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
  EXPECT_LT(run.seconds, kSecondsToEnd);
}

TEST_F(FailingTogetherTest, BadRowsOfAllRanksMakeOneMessage) {
  TrainingRows rows = make_rows({10, 10, 10}, 8);
  rows.features[0] = std::numeric_limits<float>::infinity();
  for (std::size_t rank = 0; rank < kRanks; ++rank) write_part(rows, rank);
  expect_bad_row("", ".npy: row 0");
}

}  // namespace dpreduce::failing_together_test
