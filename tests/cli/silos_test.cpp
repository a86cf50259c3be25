// fit --secure-aggregation as its users see it: a coordinator without rows, silos with files of their own.
#include <csignal>

#include <unistd.h>

#include "common/base/version.hpp"
#include "common/ledger/ledger.hpp"
#include "tests/cli/process_watch.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::silos_test {

constexpr std::size_t kMostSilosHere = 5;

class SilosTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() {
    data_ = std::make_unique<TemporaryFolder>();
    for (std::size_t silo = 1; silo <= kMostSilosHere; ++silo) {
      // Skewed: silos differ in size and in their classes.
      write_npy(make_rows({40 * silo, 90, 17 + 300 / silo}, 12), *data_ / numbered_npy("x", silo),
                *data_ / numbered_npy("y", silo));
    }
    write_npy(make_rows({50, 50, 50}, 12), *data_ / "test_x.npy", *data_ / "test_y.npy");
  }
  static void TearDownTestSuite() { data_.reset(); }
  // The options that name the rows of these silos, of the folder of all.
  static std::string rows_of(const std::string& silos) {
    std::string x = " --train-x";
    std::string y = " --train-y";
    for (const std::string& silo : split_arguments(silos)) {
      x += " " + (*data_ / ("x" + silo + ".npy"));
      y += " " + (*data_ / ("y" + silo + ".npy"));
    }
    return x + y + " ";
  }
  static std::string among_silos(const std::string& options) {
    return "fit --secure-aggregation --classes 3 --silo-timeout 20 --report report.json" + rows_of("{rank}") + options;
  }
  ProgramRun run_silos(std::size_t silos, const std::string& options, int code, const Strings& said = {},
                       Form form = Form::kFork) const {
    return run_among(silos, among_silos(options), code, said, form);
  }
  // Three silos with rows of that folder, the last of several methods that are named.
  void run_silos_of(const std::string& folder, const std::string& options, int code, const Strings& said) const {
    run_among(3,
              fmt::format("fit --secure-aggregation --classes 3 --silo-timeout 20 --method mean --mu 1 --train-x "
                          "{0}/x{{rank}}.npy --train-y {0}/y{{rank}}.npy {1}",
                          folder, options),
              code, said);
  }
  // The built program under mpirun, to be watched.
  RunningProgram started(std::size_t silos, const std::string& line, const Strings& launcher_options = {}) const {
    return RunningProgram(split_arguments(line), {.folder = folder_.path(),
                                                  .ranks = static_cast<int>(silos) + 1,
                                                  .form = Form::kProgram,
                                                  .launcher_options = launcher_options,
                                                  .timeout_seconds = 120.0});
  }
  // How it ends, with nothing left of it.
  static ProgramRun ended(RunningProgram& program, int code, const Strings& said = {}) {
    const ProgramRun run = program.finish();
    EXPECT_EQ(run.exit_code, code) << run.err;
    expect_parts(run.err, said);
    EXPECT_TRUE(all_gone(program.mark(), kSecondsToEnd)) << "processes remain";
    return run;
  }
  static pid_t worker_of_silo(const RunningProgram& program, int silo) {
    const std::optional<pid_t> worker = awaited_worker(program.mark(), silo, kSecondsToEnd);
    if (!worker) throw std::runtime_error("the silo does not start");
    return *worker;
  }
  // The model of one process that has the rows of these silos.
  std::string plain_model(const std::string& silos, const std::string& options) const {
    succeed("fit --classes 3 --out plain.safetensors --ledger plain.jsonl " + options + rows_of(silos));
    return bytes("plain.safetensors");
  }
  // Names of what a run that has ended has left and must not: models, reports, unfinished files.
  std::string half_written() const {
    std::string names;
    for (const std::string& name : folder_.names()) {
      if (!name.starts_with("ledger") && !name.ends_with(".log")) names += name + " ";
    }
    return names;
  }
  // In the folder "own": row 30 of silo 2 is no number.
  void write_rows_with_a_bad_one() const {
    fs::copy(data_->path(), folder_ / "own");
    TrainingRows bad = make_rows({40, 40, 40}, 12);
    bad.features[30 * 12 + 5] = std::numeric_limits<float>::quiet_NaN();
    write_rows(bad, "own/x2.npy", "own/y2.npy");
  }
  json report() const { return document("report.json"); }
  std::string log(const std::string& party) const { return bytes(party + ".log"); }
  std::string log(int party) const { return log(std::to_string(party)); }
  // The loss of silo 2, and of no other.
  json loss() const {
    const json lost = report()["silos"]["lost"];
    EXPECT_EQ(lost.size(), 1u);
    EXPECT_EQ(lost[0]["silo"], 2);
    return lost[0];
  }

  static inline std::unique_ptr<TemporaryFolder> data_;
};

// For every method, and up to 33 silos: place_matrix_test.cpp.
TEST_F(SilosTest, TheModelIsThatOfThePlainRunAndTheReportTellsOfTheSilos) {
  const std::string options = "--mu 2 --seed 7 --method ls";
  run_silos(5, options + " --test-x " + (*data_ / "test_x.npy") + " --test-y " + (*data_ / "test_y.npy"), 0, {},
            Form::kProgram);
  EXPECT_EQ(model(), plain_model("1 2 3 4 5", options));
  const json silos_part = report()["silos"];
  expect_members(silos_part, {{"count", 5}, {"summed", 5}, {"lost", json::array()}});
  EXPECT_THAT(silos_part["identities"].get<std::string>(), HasSubstr("ephemeral"));
  EXPECT_GT(silos_part["messages"]["masked"]["bytes"], 0);
  EXPECT_TRUE(report()["test"].contains("accuracy"));
}

// 72,000 numbers: ranks that trust each other share that noise in pieces, silos have it from the coordinator.
TEST_F(SilosTest, NoiseOfALongBlockIsThatOfThePlainRun) {
  const std::string options = "fit --classes 6000 --method mean --mu 2 --seed 7 ";
  run_among(2, options + "--secure-aggregation --silo-timeout 20" + rows_of("{rank}"), 0);
  for (const int ranks : {0, 2}) {
    succeed(options + fmt::format("--out plain.safetensors --ledger plain{}.jsonl", ranks) + rows_of("1 2"), ranks);
    EXPECT_EQ(bytes("plain.safetensors"), model()) << ranks;
  }
}

// Without noise a model shows whose rows are in it. Every fault at every message: faults_test.
TEST_F(SilosTest, TheRunGoesOnWithoutALostSilo) {
  for (const std::string fault : {"2:kill@hello", "2:kill@masked", "2:corrupt@shares", "2:wrong-key@masked"}) {
    SCOPED_TRACE(fault);
    run_silos(4, "--non-private --method mean --threshold 3 --log {rank}.log --fault " + fault, 0, {"silo 2 is lost"});
    EXPECT_EQ(model(), plain_model("1 3 4", "--non-private --method mean"));
    EXPECT_EQ(loss()["phase"], fault.substr(fault.find('@') + 1));
    if (fault != "2:kill@masked") continue;
    EXPECT_THAT(log(0), HasSubstr("silo 2 is lost, waiting for \"masked\""));
    EXPECT_THAT(log(1), HasSubstr("without silo 2 from here on"));
    EXPECT_THAT(log(2), AllOf(HasSubstr("phase open"), Not(HasSubstr("end:"))));
  }
}

// Every silo finds out that others were told other lists or public values, before it masks or before it reveals, and
// says so to its owner; no model comes of it.
TEST_F(SilosTest, ACoordinatorThatTellsContradictoryStoriesGetsNothing) {
  for (const auto& [story, charged] :
       {std::pair{"mean --fault 0:equivocate@delivery", 0U}, std::pair{"mean --fault 0:equivocate@unmask", 1U},
        std::pair{"ls --fault 0:equivocate@broadcast", 1U},
        std::pair{"gd --rounds 3 --fault 0:equivocate@broadcast#4", 1U}}) {
    SCOPED_TRACE(story);
    run_silos(5, std::string("--mu 1 --threshold 3 --log {rank}.log --method ") + story, 5,
              {"0 of 5 silos are left, --threshold 3"});
    EXPECT_EQ(half_written(), "");
    for (int silo = 1; silo <= 5; ++silo) {
      expect_parts(log(silo),
                   {"end: exit code 5: the silos do not agree on who", "the coordinator sends silos different lists"});
      const std::string ledger = fmt::format("ledger-silo{}.jsonl", silo);
      const LedgerState state = Ledger::read(folder_ / ledger);
      EXPECT_EQ(state.charges().size(), charged) << "the sums before";
      EXPECT_TRUE(state.open_runs().empty());
      for (const std::string& name : {ledger, fmt::format("{}.log", silo)}) fs::remove(folder_ / name);
    }
  }
}

// Each wait of the coordinator is a round trip, but for the first: an offer may come before its silo has a line. From
// the first message to the report the coordinator's seconds are those of "hello" and of the phases.
TEST_F(SilosTest, ALineTakesItsTimeAndChangesNothingElse) {
  const std::string options = "--mu 2 --seed 7 --method mean";
  run_silos(3, options + " --round-trip 100 --bandwidth 10 --packet-loss 1 --timings seconds.json", 0, {},
            Form::kProgram);
  EXPECT_EQ(model(), plain_model("1 2 3", options));
  const json reported = report();
  EXPECT_TRUE(reported["silos"]["lost"].empty());
  int waits = 0;
  for (const json& kind : reported["silos"]["messages"]) waits += kind["waits"].get<int>();
  const json timings = document("seconds.json");
  double seconds = timings["waits"]["hello"];
  for (const json& phase : timings["phases"]) seconds += phase.get<double>();
  EXPECT_GE(waits, 10);
  EXPECT_GE(seconds, 0.1 * (waits - 1));
}

// It is alive and late, as one is that computes for long: who is late is never left out.
TEST_F(SilosTest, ASiloThatHangsEndsTheRunForAllAndDoesNotOutliveIt) {
  RunningProgram program =
      started(4, among_silos("--non-private --method mean --threshold 3 --silo-timeout 6 --fault 3:hang@masked"));
  const Strings said{"silo 3: alive, but no \"masked\" came within --silo-timeout 6 s", "Raise --silo-timeout"};
  EXPECT_THAT(ended(program, 5, said).err, Not(HasSubstr("silo 3 is lost")));
  EXPECT_EQ(half_written(), "");
}

// At every message: faults_test.
TEST_F(SilosTest, ASiloMayBeKilledAtAnyMoment) {
  RunningProgram program = started(4, among_silos("--mu 1 --method gd --rounds 20 --threshold 3"));
  const pid_t silo = worker_of_silo(program, 2);
  ::usleep(400000);
  ::kill(silo, SIGKILL);
  ended(program, 0);
}

// Both processes of a rank: as if its machine were lost. Another silo is slow, so that the run is not over before.
TEST_F(SilosTest, ALostMachineIsLostWhereTheLauncherLetsTheJobGoOn) {
  RunningProgram program =
      started(4,
              among_silos("--non-private --method gd --rounds 30 --threshold 3 --silo-timeout 60 --log {rank}.log "
                          "--fault 1:slow=2.5@masked#3"),
              {"--enable-recovery"});
  const pid_t silo = worker_of_silo(program, 2);
  // Not while MPI starts, which waits for all.
  is_so_within(kSecondsToEnd, [&] { return has("2.log") && log(2).find("rows opened") != std::string::npos; });
  for (const ProcessEntry& process : processes_with(program.mark())) {
    if (process.pid == silo) ::kill(process.parent, SIGKILL);
  }
  ended(program, 0, {"silo 2 is lost", "its process has ended"});
  EXPECT_EQ(report()["silos"]["left"], 3);
}

TEST_F(SilosTest, ALostCoordinatorEndsTheRun) {
  const ProgramRun run =
      run_silos(3, "--mu 1 --method mean --fault 0:kill@keys", 5, {"the coordinator, rank 0 was lost"}, Form::kProgram);
  EXPECT_LT(run.seconds, kSecondsToEnd);
  EXPECT_EQ(half_written(), "");
}

// Its silos wait for it four times --silo-timeout, say so, and end; then its parent ends it.
TEST_F(SilosTest, ACoordinatorThatHangsEndsTheRun) {
  RunningProgram program =
      started(3, among_silos("--mu 1 --method mean --silo-timeout 1 --log {rank}.log --fault 0:hang@unmask"));
  const Strings said{"all silos have stopped waiting for it", "silo 1: the coordinator is silent",
                     "silo 2: the coordinator is silent", "silo 3: the coordinator is silent"};
  EXPECT_LT(ended(program, 5, said).seconds, kSecondsToEnd);
  for (const int silo : {1, 2, 3}) EXPECT_THAT(log(silo), HasSubstr("end: exit code 5: silo"));
  EXPECT_EQ(half_written(), "");
}

TEST_F(SilosTest, ABadRowOfOneSiloEndsTheRunAndIsToldByItsOwner) {
  write_rows_with_a_bad_one();
  run_silos_of("own", "", 3, {"own/x2.npy: row 30"});
  EXPECT_TRUE(charges_in(bytes("ledger.jsonl")).empty());
}

// Whatever a coordinator answers, who has refused does not go on: neither over a row nor over a file that counts twice.
TEST_F(SilosTest, WhatASiloRefusesStaysRefusedWhereTheCoordinatorSaysThatAllIsWell) {
  write_rows_with_a_bad_one();
  fs::create_directory(folder_ / "one");
  for (const char* name : {"x", "y"}) {
    for (const std::size_t silo : {1, 2, 3}) {
      fs::create_symlink(*data_ / numbered_npy(name, silo == 3 ? 3 : 1), folder_ / ("one/" + numbered_npy(name, silo)));
    }
  }
  for (const auto& [rows, message] :
       {std::pair{"own", "own/x2.npy: row 30"}, std::pair{"one", "its records would count twice"}}) {
    SCOPED_TRACE(rows);
    run_silos_of(rows, "--threshold 2 --method ls --log {rank}.log --fault 0:overrule", 5,
                 {message, "had failed with exit code 3, was told that nobody has (--fault 0:overrule)"});
    EXPECT_FALSE(has("model.safetensors"));
    std::string ends;
    for (const int silo : {1, 2, 3}) {
      const std::string said = log(silo);
      EXPECT_THAT(said, Not(HasSubstr("end: exit code 0")));
      ends += said.substr(said.rfind("end: "));
      fs::remove(folder_ / fmt::format("{}.log", silo));
    }
    EXPECT_THAT(ends, AllOf(HasSubstr("end: exit code 3: "), HasSubstr(message)));
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
                         *data_ / numbered_npy("x", silo), *data_ / numbered_npy("y", silo), silo);
    }
  }
  ProgramRun run_configured(int code, const Strings& said = {}, const std::string& options = "") const {
    return run_among(3, "fit --config common.toml --silo-config silo{rank}.toml " + options, code, said);
  }
};

TEST_F(SiloConfigTest, EachSiloReadsItsOwnAndKeepsALogOfItsOwn) {
  const ProgramRun done = run_configured(0);
  EXPECT_EQ(model(), plain_model("1 2 3", "--mu 2 --seed 7 --method mean"));
  for (const int silo : {1, 2, 3}) {
    // No exact count, nothing of others: their files, or their number of rows.
    expect_parts(log(fmt::format("silo{}", silo)),
                 {fmt::format("start: dpreduce {}, silo {} of 3", version(), silo), "rows opened", "silos 1 2 3",
                  "phase sums: ", "bytes sent", "end: exit code 0: done"},
                 {fmt::format(" {} ", 40 * silo + 90 + 17 + 300 / silo), ".npy"});
    const fs::perms others = fs::perms::group_all | fs::perms::others_all;
    EXPECT_EQ(fs::status(folder_ / fmt::format("silo{}.log", silo)).permissions() & others, fs::perms::none);
  }
  EXPECT_THAT(log("hub"), HasSubstr("coordinator of 3 silos"));
  for (const std::string& said : {done.out, done.err, bytes("report.json"), log("hub")}) {
    EXPECT_THAT(said, Not(HasSubstr(data_->path())));
  }
}

// mpirun -n 1 dpreduce ... : -n 1 dpreduce ...: every party is started with arguments of its own.
TEST_F(SiloConfigTest, PartiesMayBeStartedWithArgumentsOfTheirOwn) {
  const auto run_with = [&](const std::string& third, int code, const Strings& said) {
    std::string line = "fit --config common.toml --report report.json";
    for (const std::string own : {"silo1.toml", "silo2.toml"}) {
      line += fmt::format(" : -n 1 {} fit --config common.toml --silo-config {}", program_path(), own);
    }
    line += fmt::format(" : -n 1 {} fit --config common.toml {}", program_path(), third);
    return run_among(0, line, code, said);
  };
  run_with("--silo-config silo3.toml", 0, {});
  EXPECT_EQ(model(), plain_model("1 2 3", "--mu 2 --seed 7 --method mean"));
  // One that was told another budget, or has misspelled something, takes no part, and says why.
  for (const auto& [third, message] : {std::pair{"--silo-config silo3.toml --mu 8", "other options than this silo"},
                                       std::pair{"--silo-config silo3.toml --thread 1", "--thread"},
                                       std::pair{"--silo-config silo2.toml", "belongs to silo 2, but this is rank 3"},
                                       std::pair{"--train-x a.npy --train-y b.npy", "write {rank}"}}) {
    SCOPED_TRACE(third);
    EXPECT_LT(run_with(third, 5, {message, "lost: silo 3 (hello: its process has ended)"}).seconds, kSecondsToEnd);
  }
}

TEST_F(SiloConfigTest, ASiloWhoseLineIsSlowerThanTheTimeoutEndsTheRun) {
  std::ofstream(folder_ / "silo3.toml", std::ios::app) << "round-trip = 20000\n";
  std::ofstream(folder_ / "common.toml", std::ios::app) << "round-trip = 1\n";
  RunningProgram program =
      started(3, "fit --config common.toml --silo-config silo{rank}.toml --threshold 2 --silo-timeout 3");
  ended(program, 5, {"silo 3: alive, but no \"hello\" came within --silo-timeout 3 s"});
  EXPECT_FALSE(has("model.safetensors"));
  EXPECT_THAT(log("silo1"), HasSubstr("line: round trip 1 ms"));
  expect_parts(log("silo3"), {"line: round trip 20000 ms",
                              "end: exit code 5: the coordinator has ended"});  // what is on the line is not waited for
}

TEST_F(SiloConfigTest, AWrongFileIsToldByItsOwner) {
  const std::string well = bytes("silo2.toml");
  for (const auto& [text, message] :
       {std::pair{"epsilon = 8\n", "'epsilon' must be the same for all parties"}, std::pair{"", "cannot be read"}}) {
    SCOPED_TRACE(message);
    fs::remove(folder_ / "silo2.toml");
    if (*text != '\0') std::ofstream(folder_ / "silo2.toml") << well << text;
    const ProgramRun refused =
        run_configured(5, {"--silo-config silo2.toml", message, "lost: silo 2 (hello: its process has ended)"});
    EXPECT_EQ(messages_in(refused.err).size(), 3u) << refused.err;  // silo 2, its loss, the end
    EXPECT_LT(refused.seconds, kSecondsToEnd);
  }
  // The coordinator's own ends the run with the code of its error; with enough others a silo's does not.
  std::ofstream(folder_ / "silo2.toml") << well;
  fs::remove(folder_ / "silo0.toml");
  const ProgramRun without = run_configured(3, {"--silo-config silo0.toml: cannot be read"});
  EXPECT_EQ(messages_in(without.err).size(), 1u) << without.err;
  EXPECT_THAT(log("silo1"), HasSubstr("end: exit code 5: the coordinator has ended"));
}

class RosterRunTest : public SilosTest {
 protected:
  RosterRunTest() {
    std::ofstream roster(folder_ / "roster.toml");
    roster << "dim = 12\nclasses = 3\n";
    for (int rank = 0; rank <= 3; ++rank) {
      const json identity = figures(fmt::format("keygen --out {0}.key --name party{0}", rank));
      roster << (rank == 0 ? "[coordinator]" : fmt::format("[silo.{}]", rank))
             << fmt::format("\nname = \"party{}\"\nkey = \"{}\"\n", rank, identity["key"].get<std::string>());
    }
  }
  // What a party says for itself: its log, its ledger, and more.
  void own(int rank, const std::string& more = "") const {
    std::ofstream(folder_ / fmt::format("own{}.toml", rank))
        << fmt::format("silo = {0}\nlog = \"{0}.log\"\nledger = \"{0}.jsonl\"\n{1}", rank, more);
  }
  ProgramRun run_of_roster(const std::string& options, int code, const Strings& said = {}) const {
    return run_silos(3, "--method mean --roster roster.toml --identity {rank}.key " + options, code, said);
  }
};

TEST_F(RosterRunTest, AForeignIdentityIsLost) {
  run_of_roster("--non-private --threshold 2 --fault 3:wrong-key@hello", 0,
                {"silo 3 (party3) is lost, waiting for \"hello\""});
  EXPECT_EQ(model(), plain_model("1 2", "--non-private --method mean"));
  EXPECT_EQ(report()["silos"]["identities"], "roster");
}

TEST_F(RosterRunTest, AnotherPartysIdentityIsRefused) {
  fs::copy_file(folder_ / "1.key", folder_ / "2.key", fs::copy_options::overwrite_existing);
  run_of_roster("--mu 1", 5, {"2.key: does not belong to \"party2\", rank 2"});
}

TEST_F(RosterRunTest, WhatTheRosterSaysOfRowsHolds) {
  const std::string text = bytes("roster.toml");
  std::ofstream(folder_ / "roster.toml") << "dim = 13" << text.substr(text.find('\n'));
  run_of_roster("--mu 1", 3, {"says 13 features"});
}

TEST_F(RosterRunTest, ASiloWithMoreFeaturesThanTheRosterSaysEndsByItself) {
  fs::copy(data_->path(), folder_ / "own");
  write_rows(make_rows({40, 40, 40}, 13), "own/x2.npy", "own/y2.npy");
  for (const int rank : {0, 1, 2, 3}) own(rank);
  run_silos_of("own", "--roster roster.toml --identity {rank}.key --silo-config own{rank}.toml", 3,
               {"rows have 13 features, but --roster says 12 features"});
  EXPECT_THAT(log(2), HasSubstr("end: exit code 3: own/x{rank}.npy: rows have 13 features"));
  for (const int other : {1, 3}) EXPECT_THAT(log(other), HasSubstr("end: exit code 5: silo 2 has ended the run"));
}

// Silo 2 has terms of its own, and files of rows that are not there: it must refuse before it opens them.
class ConsentTest : public RosterRunTest {
 protected:
  ConsentTest() {
    for (int rank = 0; rank <= 3; ++rank) own(rank);
  }
  void run_with_terms(const std::string& options, int code, const Strings& said = {}) const {
    run_of_roster("--mu 2 --silo-config own{rank}.toml " + options, code, said);
  }
  // What a dry run says of the silo whose own file is own2.toml, and its code.
  void expect_preview(const std::string& options, int code, const Strings& shown, const Strings& said = {}) const {
    const ProgramRun run = run_with({.form = Form::kProgram},
                                    "fit --secure-aggregation --method mean --classes 3 --roster roster.toml "
                                    "--threshold 3 --silo-config own2.toml --dry-run " +
                                        options);
    EXPECT_EQ(run.exit_code, code) << run.err;
    expect_parts(run.out, shown);
    expect_parts(run.err, said);
  }
};

const std::string kAbsentRows = "identity = \"2.key\"\ntrain-x = [\"absent-x.npy\"]\ntrain-y = [\"absent-y.npy\"]\n";

TEST_F(ConsentTest, ASiloThatRefusesLeavesAndTheOthersGoOn) {
  own(2, "[consent]\nmost-mu = 1\n");
  run_with_terms("--threshold 2", 0,
                 {"[consent] refuses the run: most-mu: 2 requested, at most 1 allowed; no row was read",
                  "silo 2 (party2) is lost, waiting for \"status\": it refuses to take part, by its own [consent]"});
  expect_parts(log(2), {"end: exit code 4: [consent] refuses the run: most-mu"}, {"rows opened"});
  EXPECT_FALSE(has("2.jsonl"));
  // Nobody else learns of the term.
  expect_parts(log(0), {"it refuses to take part"}, {"most-mu"});
  expect_parts(log(1), {"without silo 2 (party2)", "no [consent] in --silo-config: this silo accepts every run"},
               {"most-mu"});
  EXPECT_EQ(loss()["reason"], "it refuses to take part, by its own [consent]");
}

TEST_F(ConsentTest, TheRunStopsWhereTooFewAreLeft) {
  own(1, "[consent]\nnoise = \"distributed\"\n");
  own(3, "[consent]\nmethods = [\"mean\"]\nmost-mu-in-all = 2.5\n");
  run_with_terms("--threshold 3", 5, {"2 of 3 silos are left"});
  EXPECT_THAT(log(1), HasSubstr("end: exit code 2: [consent] refuses the run: noise: central requested, distributed"));
  EXPECT_THAT(log(3), HasSubstr("consent: all 3 terms are met"));
  EXPECT_FALSE(has("3.jsonl"));
}

TEST_F(ConsentTest, StatisticsAreReleasedByTheOwnersTermsAsWell) {
  own(2, "[consent]\nmost-mu = 1\n");
  run_among(
      3,
      "release --secure-aggregation --threshold 2 --statistics class_sums --classes 3 --mu 2 --roster roster.toml "
      "--identity {rank}.key --out kept.safetensors --silo-config own{rank}.toml" +
          rows_of("{rank}"),
      0, {"silo 2 (party2) is lost, waiting for \"status\": it refuses to take part, by its own [consent]"});
  EXPECT_THAT(log(2), HasSubstr("end: exit code 4: [consent] refuses the run: most-mu: 2 requested"));
  EXPECT_FALSE(has("2.jsonl"));
}

// The second run of mu 2 makes 2.83 on the silo's own ledger.
TEST_F(ConsentTest, MuInAllCountsTheRunsBefore) {
  own(2, "[consent]\nmost-mu-in-all = 2.5\n");
  run_with_terms("--threshold 2", 0);
  run_with_terms("--threshold 2", 0, {"most-mu-in-all: 2.82"});
  EXPECT_THAT(log(2), HasSubstr("end: exit code 4: [consent] refuses the run: most-mu-in-all"));
}

TEST_F(ConsentTest, ADryRunOfASiloTellsWhatItWouldSendAndPromise) {
  own(2, kAbsentRows + "[consent]\nmethods = [\"mean\"]\nmost-mu = 1\n");
  const std::string shared = "--noise distributed --mu ";
  expect_preview(
      shared + "2", 4,
      {"dry run: nothing was sent, no rows were read, nothing was spent\n", "this is    silo 2 (party2), identity ",
       "to         the coordinator (party0), identity ", "beside     silo 1 (party1), identity ",
       "rows       12 features, 3 classes; what is sent goes to the coordinator",
       "terms      threshold 3, 0 colluding; ", "method     mean\n", "mu 2, ", "neighbors add-remove, unit record",
       "noise      in units of the sensitivity of each block\n", "class_sums",
       "own noise  at least 0.577 of each noise above: 3 such",
       "guarantee  account of silo 2: distributed noise, at least 3 honest shares; holds against the coordinator and "
       "0 ",
       "charges    of this run, on the silo's own ledger\n", "ledger     2.jsonl: before it mu 0, epsilon 0",
       "consent    passes  methods: mean requested, mean allowed",
       "consent    REFUSES most-mu: 2 requested, at most 1 allowed", "would read --train-x absent-x.npy\n"},
      {"[consent] refuses the run: most-mu"});
  EXPECT_FALSE(has("2.jsonl") || has("2.log"));
  expect_preview(shared + "0.5", 0, {"this run  mu 0.5, ", "after it  mu 0.5, "});
  expect_preview(shared + "0.5 --seed 1", 4,
                 {"so NOT private", "ledger     this run is NOT private: it has no finite mu"});
  expect_preview("--mu 0.5", 0, {"own noise  none: the coordinator adds the noise", "not against the coordinator"});
  expect_preview("--non-private", 4,
                 {"own noise  none, and the coordinator adds none: exact sums go to it", "NOT private"});
  expect_refusal(
      run_with({.form = Form::kProgram}, "fit --secure-aggregation --method mean --classes 3 --mu 1 --dry-run"), 2,
      {"--dry-run of a silo: name its own file with --silo-config"});
}

TEST_F(ConsentTest, ADryRunOfASiloIsRefusedWhereItsBudgetIsSpent) {
  const std::string budget = "--epsilon 1 --delta 1e-6";
  own(2, "budget-epsilon = 1.2\nbudget-delta = 1e-6\n" + kAbsentRows);
  expect_preview(budget, 0, {});
  succeed("fit --method mean --classes 3 --ledger 2.jsonl --out other.safetensors " + budget + rows_of("1"));
  const std::string before = bytes("2.jsonl");
  expect_preview(budget, 4, {"would read --train-x absent-x.npy"}, {"2.jsonl: recorded runs have spent epsilon"});
  EXPECT_EQ(bytes("2.jsonl"), before);
}

// Behind a run of mu 1.2 on its ledger one of mu .5 makes 1.3, since squares add up.
TEST_F(ConsentTest, ADryRunOfASiloAddsTheRunToWhatItsLedgerHas) {
  run_with_terms("--mu 1.2 --threshold 3", 0);
  own(2, kAbsentRows);
  expect_preview("--mu 0.5", 0, {"before it mu 1.2, ", "this run  mu 0.5, ", "after it  mu 1.3, "});
}

TEST_F(SilosTest, WrongOptionsAreRefusedOnce) {
  for (const auto& [options, message] :
       {std::pair{"--threshold 4", "--threshold 4: must be"},
        std::pair{"--threshold 2 --colluding 1", "twice the threshold must pass 4"},
        std::pair{"--dry-run", "--dry-run with --secure-aggregation: start it for one silo, without mpirun"}}) {
    EXPECT_EQ(messages_in(run_silos(3, std::string("--mu 1 ") + options, 2, {message}).err).size(), 1u) << options;
  }
  // Wrong options of every kind: tests/methods, tests/fit/validated_options_test.cpp and config_file_test.cpp.
  const std::string fit = "fit --classes 3 --mu 1 --train-x x{rank}.npy --train-y y{rank}.npy ";
  expect_refused(fit + "--secure-aggregation", 2, "mpirun");
  expect_refused(fit + "--silo-config a.toml", 2, "--silo-config: is for runs among silos");
  expect_refused(fit + "--config a{rank}.toml", 2, "put a silo's own options into --silo-config");
}

TEST_F(SilosTest, AnIdentityIsMadeOnce) {
  EXPECT_THAT(succeed("keygen --out a.key --name a").out, HasSubstr("name = \"a\"\nkey = \""));
  expect_refused("keygen --out a.key", 3, "never overwritten");
}

TEST_F(SilosTest, DistributedNoiseIsReleasedAndToldWithItsShares) {
  run_silos(4, "--mu 1 --method ls --noise distributed --colluding 1 --threshold 3 --fault 2:kill@masked", 0);
  expect_members(report()["silos"]["noise"],
                 {{"source", "distributed"}, {"shares_at_least", 2}, {"shares_in_last_sum", 3}});
  EXPECT_TRUE(report()["private"]);
  const Strings ledger = charges_in(bytes("ledger.jsonl"));
  ASSERT_EQ(ledger.size(), 1u);
  EXPECT_THAT(
      ledger[0],
      HasSubstr(R"("silos":{"noise":"distributed","left":4,"threshold":3,"colluding":1,"identities":"ephemeral"})"));
  expect_parts(succeed("ledger show --ledger ledger.jsonl").out,
               {"among silos: noise distributed, 4 left when charged, at least 3", "identities ephemeral (no roster)"});
  EXPECT_THAT(bytes("ledger-silo4.jsonl"),
              HasSubstr(R"("silo":4,"threshold":3,"colluding":1,"identities":"ephemeral"})"));
  EXPECT_THAT(succeed("privacy explain report.json").out, HasSubstr("identities were ephemeral"));
}

// A program that differs from this one in a silo's share of the noise, which is too small. Two of three silos run it.
TEST_F(SilosTest, AProgramThatMakesOtherNoiseTakesNoPart) {
  const std::string own = among_silos("--mu 1 --method mean --noise distributed --log {rank}.log --threshold 3");
  run_among(
      1, own + " : -n 2 " + DPREDUCE_SMALL_SHARES + " " + own, 5,
      {"it adds different noise than this party (noise plan ", "1 of 3 silos are left, --threshold 3 are needed"});
  EXPECT_THAT(log("2"), HasSubstr("the run goes on without silo 2"));
  EXPECT_EQ(half_written(), "");
  for (const std::string ledger : {"ledger.jsonl", "ledger-silo1.jsonl", "ledger-silo2.jsonl"}) {
    EXPECT_FALSE(has(ledger)) << ledger;  // nothing was reserved
  }
}

}  // namespace dpreduce::silos_test
