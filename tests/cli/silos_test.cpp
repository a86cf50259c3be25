// fit --secure-aggregation as its users see it: a coordinator without rows, silos with files of their own.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "data_files.hpp"
#include "process_watch.hpp"
#include "program_run.hpp"
#include "training_files.hpp"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dpreduce {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::size_t kMostSilosHere = 8;
constexpr double kSecondsToEnd = 30.0;

std::size_t lines_with(const std::string& beginning, const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  return static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(beginning); }));
}

class SilosTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    data_ = std::make_unique<TemporaryFolder>();
    for (std::size_t silo = 1; silo <= kMostSilosHere; ++silo) {
      // Skewed: silos differ in size and in their classes.
      write_npy(make_rows({40 * silo, 90, 17 + 300 / silo}, 12), *data_ / numbered("x", silo),
                *data_ / numbered("y", silo));
    }
    write_npy(make_rows({50, 50, 50}, 12), *data_ / "test_x.npy", *data_ / "test_y.npy");
  }
  static void TearDownTestSuite() { data_.reset(); }
  static std::string numbered(const std::string& name, std::size_t silo) { return fmt::format("{}{}.npy", name, silo); }

  static std::vector<std::string> among_silos(const std::string& options) {
    return words("fit --secure-aggregation --classes 3 --silo-timeout 20 --report report.json --train-x " +
                 (*data_ / "x{rank}.npy") + " --train-y " + (*data_ / "y{rank}.npy") + " " + options);
  }
  ProgramRun run_silos(std::size_t silos, const std::string& options) const {
    return run_program(among_silos(options),
                       {.folder = folder_.path(), .ranks = static_cast<int>(silos) + 1, .timeout_seconds = 120.0});
  }

  // The model of one process that has the rows of these silos.
  std::string plain_model(const std::vector<std::size_t>& silos, const std::string& options) const {
    std::string x = " --train-x";
    std::string y = " --train-y";
    for (const std::size_t silo : silos) {
      x += fmt::format(" {}", *data_ / numbered("x", silo));
      y += fmt::format(" {}", *data_ / numbered("y", silo));
    }
    const ProgramRun run =
        run_program(words("fit --classes 3 --out plain.safetensors --ledger plain.jsonl " + options + x + y),
                    {.folder = folder_.path(), .timeout_seconds = 120.0});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return read_bytes(folder_ / "plain.safetensors");
  }

  std::string model() const { return read_bytes(folder_ / "model.safetensors"); }
  json report() const { return json::parse(read_bytes(folder_ / "report.json")); }

  static std::unique_ptr<TemporaryFolder> data_;
  const TemporaryFolder folder_;
};

std::unique_ptr<TemporaryFolder> SilosTest::data_;

TEST_F(SilosTest, EveryMethodGivesTheBitsOfThePlainRun) {
  const std::string public_rows = *data_ / "test_x.npy";
  for (const std::string& method :
       {std::string("mean"), std::string("ls --shared-gram"), std::string("ls"), std::string("fisher"),
        "mean --center public --public-x " + public_rows, std::string("ls --shared-gram --center dp --pca 6"),
        std::string("ls --shared-gram --choose"), std::string("gd --rounds 3"), std::string("adam --rounds 3"),
        std::string("fc --rounds 3"), std::string("newton --rounds 2"), std::string("global-adapt --rounds 3"),
        std::string("coinpress"), "public --public-x " + public_rows,
        "auto --rounds 3 --objective balanced --imbalance-ratio 10 --public-x " + public_rows}) {
    SCOPED_TRACE(method);
    const std::string options = "--epsilon 4 --delta 1e-5 --seed 7 --method " + method;
    const ProgramRun run = run_silos(3, options);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(model(), plain_model({1, 2, 3}, options));
  }
}

TEST_F(SilosTest, AnyNumberOfSilosGivesTheBitsOfThePlainRun) {
  for (const std::size_t silos : {2, 5, 8}) {
    SCOPED_TRACE(silos);
    std::vector<std::size_t> all;
    for (std::size_t silo = 1; silo <= silos; ++silo) all.push_back(silo);
    const std::string options = "--mu 2 --seed 7 --method ls";
    const ProgramRun run =
        run_silos(silos, options + " --test-x " + (*data_ / "test_x.npy") + " --test-y " + (*data_ / "test_y.npy"));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(model(), plain_model(all, options));
    const json silos_part = report()["silos"];
    EXPECT_EQ(silos_part["count"], silos);
    EXPECT_EQ(silos_part["summed"], silos);
    EXPECT_TRUE(silos_part["lost"].empty());
    EXPECT_THAT(silos_part["identities"].get<std::string>(), HasSubstr("ephemeral"));
    EXPECT_GT(silos_part["messages"]["masked"]["bytes"], 0);
    EXPECT_TRUE(report()["test"].contains("accuracy"));
  }
}

// Without noise a model shows whose rows are in it.
TEST_F(SilosTest, TheRunGoesOnWithoutALostSilo) {
  for (const std::string fault : {"2:kill@hello", "2:kill@status", "2:kill@advertise", "2:kill@masked",
                                  "2:corrupt@shares", "2:replay@masked", "2:wrong-key@masked"}) {
    SCOPED_TRACE(fault);
    const ProgramRun run = run_silos(4, "--non-private --method mean --threshold 3 --fault " + fault);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(model(), plain_model({1, 3, 4}, "--non-private --method mean"));
    const json lost = report()["silos"]["lost"];
    ASSERT_EQ(lost.size(), 1u);
    EXPECT_EQ(lost[0]["silo"], 2);
    EXPECT_EQ(lost[0]["phase"], fault.substr(fault.find('@') + 1));
    EXPECT_THAT(run.err, HasSubstr("silo 2 is lost"));
  }
}

TEST_F(SilosTest, ASiloThatHangsIsLostByTimeoutAndDoesNotOutliveTheRun) {
  RunningProgram program(
      among_silos("--non-private --method mean --threshold 3 --silo-timeout 4 --fault 3:hang@masked"),
      {.folder = folder_.path(), .ranks = 5, .timeout_seconds = 120.0});
  const ProgramRun run = program.finish();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("silo 3 is lost, waiting for \"masked\": nothing came within --silo-timeout 4 s"));
  EXPECT_EQ(model(), plain_model({1, 2, 4}, "--non-private --method mean"));
  EXPECT_TRUE(all_gone(program.mark(), kSecondsToEnd)) << "processes remain";
}

TEST_F(SilosTest, ASiloMayBeKilledAtAnyMoment) {
  for (const int attempt : {1, 3}) {
    RunningProgram program(among_silos("--mu 1 --method gd --rounds 20 --threshold 3"),
                           {.folder = folder_.path(), .ranks = 5, .timeout_seconds = 120.0});
    std::optional<pid_t> silo;
    const double give_up = seconds_now() + 30.0;
    while (!silo && seconds_now() < give_up) silo = worker_of_rank(program.mark(), 2);
    ASSERT_TRUE(silo.has_value());
    ::usleep(static_cast<useconds_t>(400000 * attempt));
    ::kill(*silo, SIGKILL);
    const ProgramRun run = program.finish();
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_TRUE(all_gone(program.mark(), kSecondsToEnd)) << "processes remain";
  }
}

TEST_F(SilosTest, WithTooFewSilosTheRunEndsAndSaysWhy) {
  for (const std::string fault : {"1:kill@masked", "1:hang@advertise", "1:kill@hello", "1:corrupt@reveal"}) {
    SCOPED_TRACE(fault);
    const ProgramRun run = run_silos(3, "--mu 1 --method mean --threshold 3 --silo-timeout 3 --fault " + fault);
    EXPECT_EQ(run.exit_code, 5) << run.err;
    EXPECT_LT(run.seconds, kSecondsToEnd);
    EXPECT_THAT(run.err, HasSubstr("2 of 3 silos are left, --threshold 3 are needed; lost: silo 1"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "model.safetensors"));
  }
}

// Both processes of a rank: as if its machine were lost. Another silo is slow, so that the run is not over before.
TEST_F(SilosTest, ALostMachineIsLostByTimeoutWhereTheLauncherLetsTheJobGoOn) {
  RunningProgram program(
      among_silos("--non-private --method gd --rounds 30 --threshold 3 --silo-timeout 4 --fault 1:slow=2.5@masked#3"),
      {.folder = folder_.path(), .ranks = 5, .launcher_options = {"--enable-recovery"}, .timeout_seconds = 120.0});
  std::optional<pid_t> silo;
  const double give_up = seconds_now() + 30.0;
  while (!silo && seconds_now() < give_up) silo = worker_of_rank(program.mark(), 2);
  ASSERT_TRUE(silo.has_value());
  ::usleep(1000000);
  for (const ProcessEntry& process : processes_with(program.mark())) {
    if (process.pid == *silo) ::kill(process.parent, SIGKILL);
  }
  const ProgramRun run = program.finish();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("silo 2 is lost"));
  EXPECT_EQ(report()["silos"]["left"], 3);
  EXPECT_TRUE(all_gone(program.mark(), kSecondsToEnd)) << "processes remain";
}

TEST_F(SilosTest, ALostCoordinatorEndsTheRun) {
  const ProgramRun run = run_silos(3, "--mu 1 --method mean --fault 0:kill@keys");
  EXPECT_EQ(run.exit_code, 5) << run.err;
  EXPECT_LT(run.seconds, kSecondsToEnd);
  EXPECT_THAT(run.err, HasSubstr("the coordinator, rank 0 was lost"));
}

TEST_F(SilosTest, ABadRowOfOneSiloEndsTheRunAndIsToldByItsOwner) {
  std::filesystem::copy(data_->path(), folder_ / "own");
  TrainingRows bad = make_rows({40, 40, 40}, 12);
  bad.features[30 * 12 + 5] = std::numeric_limits<float>::quiet_NaN();
  write_npy(bad, folder_ / "own/x2.npy", folder_ / "own/y2.npy");
  const ProgramRun run =
      run_program(words("fit --secure-aggregation --method mean --classes 3 --mu 1 --train-x own/x{rank}.npy "
                        "--train-y own/y{rank}.npy"),
                  {.folder = folder_.path(), .ranks = 4});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("own/x2.npy: row 30"));
  EXPECT_EQ(read_bytes(folder_ / "ledger.jsonl"), "");
}

class RosterRunTest : public SilosTest {
 protected:
  RosterRunTest() {
    std::ofstream roster(folder_ / "roster.toml");
    roster << "dim = 12\nclasses = 3\n";
    for (int rank = 0; rank <= 3; ++rank) {
      const ProgramRun run =
          run_program(words(fmt::format("keygen --out {}.key --name party{} --format json", rank, rank)),
                      {.folder = folder_.path()});
      EXPECT_EQ(run.exit_code, 0) << run.err;
      roster << (rank == 0 ? std::string("[coordinator]\n") : fmt::format("[silo.{}]\n", rank));
      roster << fmt::format("name = \"party{}\"\nkey = \"{}\"\n", rank, run.json()["key"].get<std::string>());
    }
  }
};

TEST_F(RosterRunTest, PartiesOfTheRosterTrainTogether) {
  const ProgramRun run = run_silos(3, "--mu 2 --seed 7 --method mean --roster roster.toml --identity {rank}.key");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(model(), plain_model({1, 2, 3}, "--mu 2 --seed 7 --method mean"));
  EXPECT_EQ(report()["silos"]["identities"], "roster");
}

TEST_F(RosterRunTest, AForeignIdentityIsLost) {
  const ProgramRun run = run_silos(
      3,
      "--non-private --method mean --threshold 2 --roster roster.toml --identity {rank}.key --fault 3:wrong-key@hello");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(model(), plain_model({1, 2}, "--non-private --method mean"));
  EXPECT_THAT(run.err, HasSubstr("silo 3 (party3) is lost, waiting for \"hello\""));
}

TEST_F(RosterRunTest, AnotherPartysIdentityIsRefused) {
  std::filesystem::copy_file(folder_ / "1.key", folder_ / "2.key", std::filesystem::copy_options::overwrite_existing);
  const ProgramRun run = run_silos(3, "--mu 1 --method mean --roster roster.toml --identity {rank}.key");
  EXPECT_EQ(run.exit_code, 5) << run.err;
  EXPECT_THAT(run.err, HasSubstr("2.key: is not that of \"party2\", rank 2"));
}

TEST_F(RosterRunTest, WhatTheRosterSaysOfRowsHolds) {
  const std::string text = read_bytes(folder_ / "roster.toml");
  std::ofstream(folder_ / "roster.toml") << "dim = 13" << text.substr(text.find('\n'));
  const ProgramRun run = run_silos(3, "--mu 1 --method mean --roster roster.toml --identity {rank}.key");
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_THAT(run.err, HasSubstr("says 13 features"));
}

TEST_F(SilosTest, WrongOptionsAreRefusedOnce) {
  const std::pair<const char*, const char*> of_the_job[] = {
      {"--mu 1 --threshold 4", "--threshold 4: must be"},
      {"--mu 1 --threshold 2 --colluding 1", "twice the threshold must pass 4"},
      {"--mu 1 --fault boom", "--fault boom"}};
  for (const auto& [options, message] : of_the_job) {
    SCOPED_TRACE(options);
    const ProgramRun run = run_silos(3, options);
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_EQ(lines_with("dpreduce: ", run.err), 1u) << run.err;
  }
  const std::pair<const char*, const char*> alone[] = {
      {"--secure-aggregation --silo-timeout 0", "--silo-timeout 0"},
      {"--secure-aggregation --roster r.toml", "--identity is missing"},
      {"--secure-aggregation --dry-run", "--dry-run with --secure-aggregation"},
      {"--secure-aggregation --resume", "--resume with --secure-aggregation"},
      {"--secure-aggregation --checkpoint c", "--checkpoint with --secure-aggregation"},
      {"--secure-aggregation --test-x x{rank}.npy --test-y y.npy", "coordinator alone reads test"},
      {"--secure-aggregation --method ls --choose --noise distributed", "--choose and --noise distributed"},
      {"--secure-aggregation", "mpirun"},
      {"--threshold 3", "--threshold goes with --secure-aggregation"},
      {"--fault 1:kill@masked", "--fault goes with --secure-aggregation"},
      {"--noise distributed", "--noise distributed goes with --secure-aggregation"}};
  for (const auto& [options, message] : alone) {
    SCOPED_TRACE(options);
    std::vector<std::string> fit = words("fit --classes 3 --mu 1 --train-x x{rank}.npy --train-y y{rank}.npy");
    const ProgramRun run = run_program(joined(fit, words(options)), {.folder = folder_.path()});
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_THAT(run.err, HasSubstr(message));
  }
  const ProgramRun shared = run_program(
      words("fit --classes 3 --mu 1 --secure-aggregation --train-x x.npy --train-y y.npy"), {.folder = folder_.path()});
  EXPECT_THAT(shared.err, HasSubstr("write {rank}"));
  const ProgramRun batch = run_program(words("fit --classes 3 --epsilon 1 --delta 1e-5 --method gd --batch 0.5 "
                                             "--secure-aggregation --train-x x{rank}.npy --train-y y{rank}.npy"),
                                       {.folder = folder_.path()});
  EXPECT_THAT(batch.err, HasSubstr("--batch with --secure-aggregation"));
}

TEST_F(SilosTest, AnIdentityIsMadeOnce) {
  const ProgramRun made = run_program(words("keygen --out a.key --name a"), {.folder = folder_.path()});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("name = \"a\"\nkey = \""));
  const ProgramRun again = run_program(words("keygen --out a.key"), {.folder = folder_.path()});
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, HasSubstr("never overwritten"));
}

TEST_F(SilosTest, DistributedNoiseIsReleasedAndToldWithItsShares) {
  const ProgramRun run =
      run_silos(4, "--mu 1 --method ls --noise distributed --colluding 1 --threshold 3 --fault 2:kill@masked");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json noise = report()["silos"]["noise"];
  EXPECT_EQ(noise["source"], "distributed");
  EXPECT_EQ(noise["shares_at_least"], 2);
  EXPECT_EQ(noise["shares_in_last_sum"], 3);
  EXPECT_TRUE(report()["private"]);
  const std::vector<std::string> ledger = lines_of(read_bytes(folder_ / "ledger.jsonl"));
  ASSERT_EQ(ledger.size(), 1u);
  EXPECT_THAT(ledger[0], HasSubstr(R"("silos":{"noise":"distributed","left":4,"threshold":3,"colluding":1})"));
  const ProgramRun shown = run_program(words("ledger show --ledger ledger.jsonl"), {.folder = folder_.path()});
  EXPECT_THAT(shown.out, HasSubstr("among silos: noise distributed, 4 left when charged, at least 3"));
}

}  // namespace
}  // namespace dpreduce
