// fit --secure-aggregation as its users see it: a coordinator without rows, silos with files of their own.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/version.hpp"
#include "tests/cli/process_watch.hpp"
#include "tests/cli/program_run.hpp"
#include "tests/cli/training_files.hpp"
#include "tests/common/data/data_files.hpp"

namespace dpreduce {
namespace silos_test {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kMostSilosHere = 5;
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
    return split_arguments("fit --secure-aggregation --classes 3 --silo-timeout 20 --report report.json --train-x " +
                           (*data_ / "x{rank}.npy") + " --train-y " + (*data_ / "y{rank}.npy") + " " + options);
  }
  ProgramRun run_silos(std::size_t silos, const std::string& options, Form form = Form::kFork) const {
    return run_program(
        among_silos(options),
        {.folder = folder_.path(), .ranks = static_cast<int>(silos) + 1, .form = form, .timeout_seconds = 120.0});
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
        run_program(split_arguments("fit --classes 3 --out plain.safetensors --ledger plain.jsonl " + options + x + y),
                    {.folder = folder_.path(), .timeout_seconds = 120.0});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return read_bytes(folder_ / "plain.safetensors");
  }

  // Names of what a run that has ended has left and must not: models, reports, unfinished files.
  std::string half_written() const {
    std::string names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("ledger") && !name.ends_with(".log")) names += name + " ";
    }
    return names;
  }

  std::string model() const { return read_bytes(folder_ / "model.safetensors"); }
  json report() const { return json::parse(read_bytes(folder_ / "report.json")); }

  static std::unique_ptr<TemporaryFolder> data_;
  const TemporaryFolder folder_;
};

std::unique_ptr<TemporaryFolder> SilosTest::data_;

// For every method, and up to 33 silos: silo_sums_test.cpp.
TEST_F(SilosTest, TheModelIsThatOfThePlainRunAndTheReportTellsOfTheSilos) {
  const std::string options = "--mu 2 --seed 7 --method ls";
  const ProgramRun run =
      run_silos(5, options + " --test-x " + (*data_ / "test_x.npy") + " --test-y " + (*data_ / "test_y.npy"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(model(), plain_model({1, 2, 3, 4, 5}, options));
  const json silos_part = report()["silos"];
  EXPECT_EQ(silos_part["count"], 5);
  EXPECT_EQ(silos_part["summed"], 5);
  EXPECT_TRUE(silos_part["lost"].empty());
  EXPECT_THAT(silos_part["identities"].get<std::string>(), HasSubstr("ephemeral"));
  EXPECT_GT(silos_part["messages"]["masked"]["bytes"], 0);
  EXPECT_TRUE(report()["test"].contains("accuracy"));
}

// Without noise a model shows whose rows are in it. Every fault at every message: silos_faults_test.
TEST_F(SilosTest, TheRunGoesOnWithoutALostSilo) {
  for (const std::string fault : {"2:kill@hello", "2:kill@masked", "2:corrupt@shares", "2:wrong-key@masked"}) {
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

// What a silo reveals is checked against what its owner has committed to: a lie costs the liar its place, and is told.
TEST_F(SilosTest, WhoRevealsAWrongShareIsNamedAndTheRunGoesOn) {
  const ProgramRun run = run_silos(4, "--non-private --method mean --threshold 3 --fault 2:lie@reveal");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(model(), plain_model({1, 2, 3, 4}, "--non-private --method mean"));  // its statistic had come
  const json lost = report()["silos"]["lost"];
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0]["silo"], 2);
  EXPECT_THAT(lost[0]["reason"].get<std::string>(), HasSubstr("it reveals another share of a secret of silo 1"));
  const ProgramRun too_few = run_silos(3, "--mu 1 --method mean --threshold 3 --fault 3:lie@reveal");
  EXPECT_EQ(too_few.exit_code, 5);
  EXPECT_THAT(too_few.err, HasSubstr("lost: silo 3 (reveal: it reveals another share"));
}

// Every silo finds out that others were told other lists or public values, before it masks or before it reveals, and
// says so to its owner; no model comes of it.
TEST_F(SilosTest, ACoordinatorThatTellsContradictoryStoriesGetsNothing) {
  for (const std::string story :
       {"mean --fault 0:equivocate@delivery", "mean --fault 0:equivocate@unmask", "ls --fault 0:equivocate@broadcast",
        "gd --rounds 3 --fault 0:equivocate@broadcast#2"}) {
    SCOPED_TRACE(story);
    const ProgramRun run = run_silos(5, "--mu 1 --threshold 3 --log {rank}.log --method " + story);
    EXPECT_EQ(run.exit_code, 5);
    EXPECT_THAT(run.err, HasSubstr("0 of 5 silos are left, --threshold 3"));
    EXPECT_EQ(half_written(), "");
    for (int silo = 1; silo <= 5; ++silo) {
      const std::string log = read_bytes(folder_ / fmt::format("{}.log", silo));
      EXPECT_THAT(log, HasSubstr("end: exit code 5: the silos do not agree on who"));
      EXPECT_THAT(log, HasSubstr("the coordinator tells silos different lists"));
      std::filesystem::remove(folder_ / fmt::format("{}.log", silo));
    }
  }
}

// No sum comes after what a silo was told otherwise: it sends nothing that depends on it.
TEST_F(SilosTest, AnotherValueAfterTheLastSumChangesNothing) {
  const std::string options = "--non-private --method mean";
  const ProgramRun run = run_silos(4, options + " --fault 0:equivocate@broadcast");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(model(), plain_model({1, 2, 3, 4}, options));
}

// Each wait of the coordinator is a round trip, but for the first: an offer may come before its silo has a line. From
// the first message to the report the coordinator's seconds are those of "hello" and of the phases.
TEST_F(SilosTest, ALineTakesItsTimeAndChangesNothingElse) {
  const std::string options = "--mu 2 --seed 7 --method mean";
  const ProgramRun run =
      run_silos(3, options + " --round-trip 100 --bandwidth 10 --packet-loss 1 --timings seconds.json", Form::kProgram);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(model(), plain_model({1, 2, 3}, options));
  const json reported = report();
  EXPECT_TRUE(reported["silos"]["lost"].empty());
  int waits = 0;
  for (const json& kind : reported["silos"]["messages"]) waits += kind["waits"].get<int>();
  const json timings = json::parse(read_bytes(folder_ / "seconds.json"));
  double seconds = timings["waits"]["hello"];
  for (const json& phase : timings["phases"]) seconds += phase.get<double>();
  EXPECT_GE(waits, 10);
  EXPECT_GE(seconds, 0.1 * (waits - 1));
}

// It is alive and late, as one is that computes for long: who is late is never left out.
TEST_F(SilosTest, ASiloThatHangsEndsTheRunForAllAndDoesNotOutliveIt) {
  RunningProgram program(
      among_silos("--non-private --method mean --threshold 3 --silo-timeout 6 --fault 3:hang@masked"),
      {.folder = folder_.path(), .ranks = 5, .form = Form::kProgram, .timeout_seconds = 120.0});
  const ProgramRun run = program.finish();
  EXPECT_EQ(run.exit_code, 5) << run.err;
  EXPECT_THAT(run.err, HasSubstr("silo 3: alive, but no \"masked\" came within --silo-timeout 6 s"));
  EXPECT_THAT(run.err, HasSubstr("Raise --silo-timeout"));
  EXPECT_THAT(run.err, Not(HasSubstr("silo 3 is lost")));
  EXPECT_EQ(half_written(), "");
  EXPECT_TRUE(all_gone(program.mark(), kSecondsToEnd)) << "processes remain";
}

TEST_F(SilosTest, ASiloMayBeKilledAtAnyMoment) {
  for (const int attempt : {1, 3}) {
    RunningProgram program(among_silos("--mu 1 --method gd --rounds 20 --threshold 3"),
                           {.folder = folder_.path(), .ranks = 5, .form = Form::kProgram, .timeout_seconds = 120.0});
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
  for (const std::string fault : {"1:kill@masked", "1:kill@advertise"}) {
    SCOPED_TRACE(fault);
    const ProgramRun run = run_silos(3, "--mu 1 --method mean --threshold 3 --fault " + fault);
    EXPECT_EQ(run.exit_code, 5) << run.err;
    EXPECT_LT(run.seconds, kSecondsToEnd);
    EXPECT_THAT(run.err, HasSubstr("2 of 3 silos are left, --threshold 3 are needed; lost: silo 1"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "model.safetensors"));
  }
}

// Both processes of a rank: as if its machine were lost. Another silo is slow, so that the run is not over before.
TEST_F(SilosTest, ALostMachineIsLostByItsSilenceWhereTheLauncherLetsTheJobGoOn) {
  RunningProgram program(
      among_silos("--non-private --method gd --rounds 30 --threshold 3 --silo-timeout 60 --log {rank}.log --fault "
                  "1:slow=2.5@masked#3"),
      {.folder = folder_.path(),
       .ranks = 5,
       .form = Form::kProgram,
       .launcher_options = {"--enable-recovery"},
       .timeout_seconds = 120.0});
  std::optional<pid_t> silo;
  const double give_up = seconds_now() + 30.0;
  while (!silo && seconds_now() < give_up) silo = worker_of_rank(program.mark(), 2);
  ASSERT_TRUE(silo.has_value());
  // Not while MPI starts, which waits for all.
  const auto is_in_the_run = [&] {
    return std::filesystem::exists(folder_ / "2.log") &&
           read_bytes(folder_ / "2.log").find("rows opened") != std::string::npos;
  };
  while (!is_in_the_run() && seconds_now() < give_up) ::usleep(10000);
  for (const ProcessEntry& process : processes_with(program.mark())) {
    if (process.pid == *silo) ::kill(process.parent, SIGKILL);
  }
  const ProgramRun run = program.finish();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("silo 2 is lost"));
  EXPECT_THAT(run.err, HasSubstr("its line is dead: its relay is silent"));
  EXPECT_EQ(report()["silos"]["left"], 3);
  EXPECT_TRUE(all_gone(program.mark(), kSecondsToEnd)) << "processes remain";
}

TEST_F(SilosTest, ALostCoordinatorEndsTheRun) {
  const ProgramRun run = run_silos(3, "--mu 1 --method mean --fault 0:kill@keys", Form::kProgram);
  EXPECT_EQ(run.exit_code, 5) << run.err;
  EXPECT_LT(run.seconds, kSecondsToEnd);
  EXPECT_THAT(run.err, HasSubstr("the coordinator, rank 0 was lost"));
  EXPECT_EQ(half_written(), "");
}

// Its silos wait for it four times --silo-timeout, say so, and end; then its relay ends it.
TEST_F(SilosTest, ACoordinatorThatHangsEndsTheRun) {
  RunningProgram program(among_silos("--mu 1 --method mean --silo-timeout 1 --log {rank}.log --fault 0:hang@unmask"),
                         {.folder = folder_.path(), .ranks = 4, .form = Form::kProgram, .timeout_seconds = 120.0});
  const ProgramRun run = program.finish();
  EXPECT_EQ(run.exit_code, 5) << run.err;
  EXPECT_LT(run.seconds, kSecondsToEnd);
  for (const int silo : {1, 2, 3}) {
    EXPECT_THAT(run.err, HasSubstr(fmt::format("silo {}: the coordinator is silent", silo)));
    EXPECT_THAT(read_bytes(folder_ / fmt::format("{}.log", silo)), HasSubstr("end: exit code 5: silo"));
  }
  EXPECT_THAT(run.err, HasSubstr("every silo has given it up"));
  EXPECT_EQ(half_written(), "");
  EXPECT_TRUE(all_gone(program.mark(), kSecondsToEnd)) << "processes remain";
}

TEST_F(SilosTest, ABadRowOfOneSiloEndsTheRunAndIsToldByItsOwner) {
  std::filesystem::copy(data_->path(), folder_ / "own");
  TrainingRows bad = make_rows({40, 40, 40}, 12);
  bad.features[30 * 12 + 5] = std::numeric_limits<float>::quiet_NaN();
  write_npy(bad, folder_ / "own/x2.npy", folder_ / "own/y2.npy");
  const ProgramRun run =
      run_program(split_arguments("fit --secure-aggregation --method mean --classes 3 --mu 1 --train-x own/x{rank}.npy "
                                  "--train-y own/y{rank}.npy"),
                  {.folder = folder_.path(), .ranks = 4});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("own/x2.npy: row 30"));
  EXPECT_TRUE(charges_in(read_bytes(folder_ / "ledger.jsonl")).empty());
}

// Whatever a coordinator answers, who has refused does not go on: neither over a row nor over a file that counts twice.
TEST_F(SilosTest, WhatASiloRefusesStaysRefusedWhereTheCoordinatorSaysThatAllIsWell) {
  const auto overruled = [&](const std::string& rows) {
    return run_program(split_arguments("fit --secure-aggregation --threshold 2 --method ls --classes 3 --mu 1 "
                                       "--silo-timeout 20 --log {rank}.log --fault 0:overrule " +
                                       rows),
                       {.folder = folder_.path(), .ranks = 4, .timeout_seconds = 120.0});
  };
  std::filesystem::copy(data_->path(), folder_ / "own");
  TrainingRows bad = make_rows({40, 40, 40}, 12);
  bad.features[30 * 12 + 5] = std::numeric_limits<float>::quiet_NaN();
  write_npy(bad, folder_ / "own/x2.npy", folder_ / "own/y2.npy");
  std::filesystem::create_directory(folder_ / "one");
  for (const char* name : {"x", "y"}) {
    for (const int silo : {1, 2, 3}) {
      std::filesystem::create_symlink(*data_ / numbered(name, silo == 3 ? 3U : 1U),
                                      folder_ / ("one/" + numbered(name, static_cast<std::size_t>(silo))));
    }
  }
  for (const auto& [rows, message] :
       {std::pair{"--train-x own/x{rank}.npy --train-y own/y{rank}.npy", "own/x2.npy: row 30"},
        std::pair{"--train-x one/x{rank}.npy --train-y one/y{rank}.npy", "its records would count twice"}}) {
    SCOPED_TRACE(rows);
    const ProgramRun run = overruled(rows);
    EXPECT_EQ(run.exit_code, 5) << run.err;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_THAT(run.err, HasSubstr("had failed with exit code 3, was told that nobody has (--fault 0:overrule)"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "model.safetensors"));
    std::string ends;
    for (const int silo : {1, 2, 3}) {
      const std::string log = read_bytes(folder_ / fmt::format("{}.log", silo));
      EXPECT_THAT(log, Not(HasSubstr("end: exit code 0")));
      ends += log.substr(log.rfind("end: "));
      std::filesystem::remove(folder_ / fmt::format("{}.log", silo));
    }
    EXPECT_THAT(ends, HasSubstr("end: exit code 3: "));
    EXPECT_THAT(ends, HasSubstr(message));
  }
}

// Each silo's own options in a file of its own, which no other party reads.
class SiloConfigTest : public SilosTest {
 protected:
  SiloConfigTest() {
    std::ofstream(folder_ / "common.toml") << "secure-aggregation = true\nclasses = 3\nmu = 2\nseed = 7\n"
                                              "method = \"mean\"\nsilo-timeout = 20\n";
    std::ofstream(folder_ / "silo0.toml") << "log = \"hub.log\"\nreport = \"report.json\"\n";
    for (const std::size_t silo : {1, 2, 3}) {
      std::ofstream(folder_ / fmt::format("silo{}.toml", silo))
          << fmt::format("silo = {}\ntrain-x = \"{}\"\ntrain-y = \"{}\"\nlog = \"silo{}.log\"\n", silo,
                         *data_ / numbered("x", silo), *data_ / numbered("y", silo), silo);
    }
  }
  ProgramRun run(const std::string& options = "--config common.toml --silo-config silo{rank}.toml") const {
    return run_program(split_arguments("fit " + options),
                       {.folder = folder_.path(), .ranks = 4, .timeout_seconds = 120.0});
  }
  std::string log(const std::string& name) const { return read_bytes(folder_ / (name + ".log")); }
};

TEST_F(SiloConfigTest, EachSiloReadsItsOwnAndKeepsALogOfItsOwn) {
  const ProgramRun ended = run();
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(model(), plain_model({1, 2, 3}, "--mu 2 --seed 7 --method mean"));
  for (const int silo : {1, 2, 3}) {
    const std::string text = log(fmt::format("silo{}", silo));
    for (const std::string& part : {fmt::format("start: dpreduce {}, silo {} of 3", version(), silo),
                                    std::string("rows opened"), std::string("silos 1 2 3"), std::string("phase sums: "),
                                    std::string("bytes sent"), std::string("end: exit code 0: done")}) {
      EXPECT_THAT(text, HasSubstr(part));
    }
    // No exact count, nothing of others: their files, or their number of rows.
    const std::size_t rows = 40 * static_cast<std::size_t>(silo) + 90 + 17 + 300 / static_cast<std::size_t>(silo);
    EXPECT_THAT(text, Not(HasSubstr(fmt::format(" {} ", rows))));
    EXPECT_THAT(text, Not(HasSubstr(".npy")));
    const std::filesystem::perms others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
    EXPECT_EQ(std::filesystem::status(folder_ / fmt::format("silo{}.log", silo)).permissions() & others,
              std::filesystem::perms::none);
  }
  EXPECT_THAT(log("hub"), HasSubstr("coordinator of 3 silos"));
  for (const std::string& said : {ended.out, ended.err, read_bytes(folder_ / "report.json"), log("hub")}) {
    EXPECT_THAT(said, Not(HasSubstr(data_->path())));
  }
}

// mpirun -n 1 dpreduce ... : -n 1 dpreduce ...: every party is started with arguments of its own.
TEST_F(SiloConfigTest, PartiesMayBeStartedWithArgumentsOfTheirOwn) {
  const auto started = [&](const std::string& third) {
    std::string line = "fit --config common.toml --report report.json";
    for (const std::string own : {"silo1.toml", "silo2.toml"}) {
      line += fmt::format(" : -n 1 {} fit --config common.toml --silo-config {}", program_path(), own);
    }
    line += fmt::format(" : -n 1 {} fit --config common.toml {}", program_path(), third);
    return run_program(split_arguments(line), {.folder = folder_.path(), .ranks = 1, .timeout_seconds = 120.0});
  };
  const ProgramRun well = started("--silo-config silo3.toml");
  ASSERT_EQ(well.exit_code, 0) << well.err;
  EXPECT_EQ(model(), plain_model({1, 2, 3}, "--mu 2 --seed 7 --method mean"));

  // One that was told another budget, or has misspelled something, takes no part, and says why.
  for (const auto& [third, message] : {std::pair{"--silo-config silo3.toml --mu 8", "other options than this silo"},
                                       std::pair{"--silo-config silo3.toml --thread 1", "--thread"},
                                       std::pair{"--silo-config silo2.toml", "is that of silo 2, but this is rank 3"},
                                       std::pair{"--train-x a.npy --train-y b.npy", "write {rank}"}}) {
    SCOPED_TRACE(third);
    const ProgramRun run = started(third);
    EXPECT_EQ(run.exit_code, 5) << run.err;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_THAT(run.err, HasSubstr("lost: silo 3 (hello: its process has ended)"));
    EXPECT_LT(run.seconds, kSecondsToEnd);
  }
}

TEST_F(SiloConfigTest, ASiloWhoseLineIsSlowerThanTheTimeoutEndsTheRun) {
  std::ofstream(folder_ / "silo3.toml", std::ios::app) << "round-trip = 20000\n";
  std::ofstream(folder_ / "common.toml", std::ios::app) << "round-trip = 1\n";
  RunningProgram program(
      split_arguments("fit --config common.toml --silo-config silo{rank}.toml --threshold 2 --silo-timeout 3"),
      {.folder = folder_.path(), .ranks = 4, .form = Form::kProgram, .timeout_seconds = 120.0});
  const ProgramRun ended = program.finish();
  EXPECT_EQ(ended.exit_code, 5) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("silo 3: alive, but no \"hello\" came within --silo-timeout 3 s"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "model.safetensors"));
  EXPECT_THAT(log("silo1"), HasSubstr("line: round trip 1 ms"));
  EXPECT_THAT(log("silo3"), HasSubstr("line: round trip 20000 ms"));
  EXPECT_THAT(log("silo3"),
              HasSubstr("end: exit code 5: the coordinator is gone"));  // what is on the line is not waited for
  EXPECT_TRUE(all_gone(program.mark(), kSecondsToEnd)) << "processes remain";
}

TEST_F(SiloConfigTest, AWrongFileIsToldByItsOwner) {
  const std::string well = read_bytes(folder_ / "silo2.toml");
  for (const auto& [text, message] :
       {std::pair{"epsilon = 8\n", "'epsilon' is not a silo's own to say"},
        std::pair{"train-z = 8\n", "'train-z' is not an option of fit"}, std::pair{"", "cannot be read"}}) {
    SCOPED_TRACE(message);
    std::filesystem::remove(folder_ / "silo2.toml");
    if (*text != '\0') std::ofstream(folder_ / "silo2.toml") << well << text;
    const ProgramRun refused = run();
    EXPECT_EQ(refused.exit_code, 5) << refused.err;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("--silo-config silo2.toml"), HasSubstr(message)));
    EXPECT_THAT(refused.err, HasSubstr("lost: silo 2 (hello: its process has ended)"));
    EXPECT_EQ(lines_with("dpreduce: ", refused.err), 3u) << refused.err;  // silo 2, its loss, the end
    EXPECT_LT(refused.seconds, kSecondsToEnd);
  }
  // The coordinator's own ends the run with the code of its error; with enough others a silo's does not.
  std::ofstream(folder_ / "silo2.toml") << well;
  std::filesystem::remove(folder_ / "silo0.toml");
  const ProgramRun without = run();
  EXPECT_EQ(without.exit_code, 3) << without.err;
  EXPECT_THAT(without.err, HasSubstr("--silo-config silo0.toml: cannot be read"));
  EXPECT_EQ(lines_with("dpreduce: ", without.err), 1u) << without.err;
  EXPECT_THAT(log("silo1"), HasSubstr("end: exit code 5: the coordinator is gone"));
}

TEST_F(SiloConfigTest, ASiloThatIsKilledLeavesALogAndOthersNoteItsLoss) {
  const ProgramRun ended =
      run("--config common.toml --silo-config silo{rank}.toml --threshold 2 --fault 2:kill@masked");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(log("silo2"), HasSubstr("phase open"));
  EXPECT_THAT(log("silo2"), Not(HasSubstr("end:")));
  EXPECT_THAT(log("silo1"), HasSubstr("without silo 2 from here on"));
  EXPECT_THAT(log("hub"), HasSubstr("silo 2 is lost, waiting for \"masked\""));
}

class RosterRunTest : public SilosTest {
 protected:
  RosterRunTest() {
    std::ofstream roster(folder_ / "roster.toml");
    roster << "dim = 12\nclasses = 3\n";
    for (int rank = 0; rank <= 3; ++rank) {
      const ProgramRun run =
          run_program(split_arguments(fmt::format("keygen --out {}.key --name party{} --format json", rank, rank)),
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
      {"--mu 1 --fault boom", "--fault boom"},
      {"--mu 1 --fault 2:equivocate@unmask", "the coordinator equivocates, at broadcast, delivery or unmask"},
      {"--mu 1 --fault 1:overrule", "overrule as 0:overrule alone"}};
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
      {"--round-trip 40", "--round-trip goes with --secure-aggregation"},
      {"--bandwidth 100", "--bandwidth goes with --secure-aggregation"},
      {"--packet-loss 0", "--packet-loss goes with --secure-aggregation"},
      {"--secure-aggregation --round-trip -1", "--round-trip -1: must be from 0"},
      {"--secure-aggregation --round-trip nan", "--round-trip nan"},
      {"--secure-aggregation --bandwidth 0", "--bandwidth 0: must be from 0.001"},
      {"--secure-aggregation --packet-loss 100 --round-trip 40", "--packet-loss 100: must be from 0 to 99"},
      {"--secure-aggregation --packet-loss 1 --bandwidth 10", "--packet-loss 1 goes with --round-trip"},
      {"--log a.log", "--log goes with --secure-aggregation"},
      {"--silo-config a.toml", "--silo-config: is of one party among silos"},
      {"--config a{rank}.toml", "what is a silo's own goes into --silo-config"},
      {"--noise distributed", "--noise distributed goes with --secure-aggregation"}};
  for (const auto& [options, message] : alone) {
    SCOPED_TRACE(options);
    std::vector<std::string> fit =
        split_arguments("fit --classes 3 --mu 1 --train-x x{rank}.npy --train-y y{rank}.npy");
    const ProgramRun run = run_program(joined(fit, split_arguments(options)), {.folder = folder_.path()});
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_THAT(run.err, HasSubstr(message));
  }
  const ProgramRun shared =
      run_program(split_arguments("fit --classes 3 --mu 1 --secure-aggregation --train-x x.npy --train-y y.npy"),
                  {.folder = folder_.path()});
  EXPECT_THAT(shared.err, HasSubstr("write {rank}"));
  const ProgramRun batch =
      run_program(split_arguments("fit --classes 3 --epsilon 1 --delta 1e-5 --method gd --batch 0.5 "
                                  "--secure-aggregation --train-x x{rank}.npy --train-y y{rank}.npy"),
                  {.folder = folder_.path()});
  EXPECT_THAT(batch.err, HasSubstr("--batch with --secure-aggregation"));
}

TEST_F(SilosTest, AnIdentityIsMadeOnce) {
  const ProgramRun made = run_program(split_arguments("keygen --out a.key --name a"), {.folder = folder_.path()});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("name = \"a\"\nkey = \""));
  const ProgramRun again = run_program(split_arguments("keygen --out a.key"), {.folder = folder_.path()});
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
  const std::vector<std::string> ledger = charges_in(read_bytes(folder_ / "ledger.jsonl"));
  ASSERT_EQ(ledger.size(), 1u);
  EXPECT_THAT(
      ledger[0],
      HasSubstr(R"("silos":{"noise":"distributed","left":4,"threshold":3,"colluding":1,"identities":"ephemeral"})"));
  const ProgramRun shown =
      run_program(split_arguments("ledger show --ledger ledger.jsonl"), {.folder = folder_.path()});
  EXPECT_THAT(shown.out, HasSubstr("among silos: noise distributed, 4 left when charged, at least 3"));
  EXPECT_THAT(shown.out, HasSubstr("identities ephemeral (no roster)"));
  EXPECT_THAT(read_bytes(folder_ / "ledger-silo4.jsonl"),
              HasSubstr(R"("silo":4,"threshold":3,"colluding":1,"identities":"ephemeral"})"));
  const ProgramRun explained = run_program(split_arguments("privacy explain report.json"), {.folder = folder_.path()});
  EXPECT_THAT(explained.out, HasSubstr("identities were ephemeral"));
}

// Programs that differ from this one in a silo's share of the noise, which is too small; one also says that it is of
// another version. Two of three silos run it.
TEST_F(SilosTest, AProgramThatMakesOtherNoiseTakesNoPart) {
  const auto run_with = [&](const std::string& program, const std::string& threshold) {
    std::vector<std::string> own =
        among_silos("--mu 1 --method mean --noise distributed --log {rank}.log --threshold " + threshold);
    std::vector<std::string> line = joined(own, {":", "-n", "2", program});
    return run_program(joined(line, own), {.folder = folder_.path(), .ranks = 2, .timeout_seconds = 120.0});
  };
  const ProgramRun shares = run_with(DPREDUCE_SMALL_SHARES, "3");
  EXPECT_EQ(shares.exit_code, 5) << shares.err;
  EXPECT_THAT(shares.err, HasSubstr("it makes other noise than this party (noise plan "));
  EXPECT_THAT(shares.err, HasSubstr("1 of 3 silos are left, --threshold 3 are needed"));
  EXPECT_THAT(read_bytes(folder_ / "2.log"), HasSubstr("the run goes on without silo 2"));
  const ProgramRun version = run_with(DPREDUCE_OTHER_VERSION, "2");
  EXPECT_EQ(version.exit_code, 5) << version.err;
  EXPECT_THAT(version.err,
              HasSubstr("the coordinator runs dpreduce " + dpreduce::version() + ", and this silo dpreduce 0.0.9"));
  EXPECT_EQ(half_written(), "");
  for (const std::string ledger : {"ledger.jsonl", "ledger-silo1.jsonl", "ledger-silo2.jsonl"}) {
    EXPECT_FALSE(std::filesystem::exists(folder_ / ledger)) << ledger;  // nothing was reserved
  }
}

}  // namespace silos_test
}  // namespace dpreduce
