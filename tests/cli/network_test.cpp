// dpreduce coordinator and dpreduce silo: runs of processes of their own.
#include <fmt/chrono.h>

#include "tests/cli/network_processes.hpp"
#include "tests/slow_tests.hpp"

namespace dpreduce::network_test {

class NetworkTest : public NetworkProcesses {
 protected:
  // A private model and its file, of the first silo's rows alone.
  void train_alone() const {
    succeed(
        "fit --classes 3 --mu 1 --method mean --out trained --ledger plain.jsonl --train-x n1x.npy --train-y n1y.npy");
  }
  // The roster says how many features a row has, and how many classes, or numbers in their place.
  void write_in_roster(const std::string& now, const std::string& before) const {
    std::string roster = bytes("roster.toml");
    write_bytes(folder_ / "roster.toml", roster.replace(roster.find(before), before.size(), now));
  }
  // A run in which options differ for the third silo, which ends with this code and is lost; the others go on.
  Ended run_without_third(const std::string& options, const std::string& of_third, const std::string& of_others,
                          int code) const {
    Ended all = run_parties([&](std::size_t party) { return options + (party == 3 ? of_third : of_others); });
    std::vector<int> codes = all_end_well_;
    codes[3] = code;
    EXPECT_EQ(all.codes(), codes) << all.parties[0].err << all.parties[3].err;
    EXPECT_NE(reason_of_loss(3), "");
    return all;
  }
  // The built program, which waits for its coordinator in vain, once it has a health file.
  std::unique_ptr<RunningProgram> start_waiting_silo() const {
    auto silo = start(words_of(1, kNobody, "--method mean --epsilon 4 --delta 1e-5"), Form::kProgram);
    wait_until([&] { return has("n1.health"); }, "the silo does not begin");
    return silo;
  }
};

// The bits of the form under a launcher, which are those of one process with all rows (place_matrix_test.cpp): whoever
// adds the noise. Each silo's ledger holds what it holds there.
TEST_F(NetworkTest, ModelsAndLedgersAreThoseOfPartiesUnderALauncher) {
  const std::string of_persons = "--method mean --metric euclidean --noise distributed --rows-per-person 2";
  std::vector<std::string> ways{"--method mean", "--method ls --noise distributed", "--method fc --rounds 2",
                                "--method auto --rounds 2 --noise distributed", of_persons};
  if (runs_slow_tests()) {
    ways.insert(ways.end(), {"--method mean --noise distributed", "--method ls", "--method gd --rounds 2",
                             "--method fc --rounds 2 --noise distributed", "--method auto --rounds 2",
                             "--method newton --rounds 2 --noise distributed", "--method global-adapt --rounds 2",
                             "--method coinpress", "--method fisher --noise distributed"});
  }
  for (const std::string& way : ways) {
    SCOPED_TRACE(way);
    const std::string options = way + " --epsilon 4 --delta 1e-5 ";
    const std::string person = way == of_persons ? "--train-person n{}p.npy" : "";
    const std::string expected = model_under_launcher(options + fmt::format(fmt::runtime(person), "{rank}"));
    const auto options_of = [&](std::size_t party) {
      return party == 0 ? options : options + fmt::format(fmt::runtime(person), party);
    };
    EXPECT_EQ(run_seeded(options_of), all_end_well_) << bytes("n0.log");
    EXPECT_TRUE(model() == expected);
    for (std::size_t party = 0; party <= kSilos; ++party) {
      const std::string ledger = fmt::format("m{}.jsonl", party);
      EXPECT_FALSE(charged(ledger).empty());
      EXPECT_EQ(charged(name(party, ".jsonl")), charged(ledger)) << "party " << party;
      for (const std::string& made : {ledger, name(party, ".jsonl")}) std::filesystem::remove(folder_ / made);
    }
  }
}

TEST_F(NetworkTest, NumbersArePredictedOverANetworkAsWell) {
  labels_option_ = "--targets";
  say_without_classes();
  write_in_roster("classes = 1", "classes = 3");
  const Ended ended = run_parties("--method ls --target-range private --noise distributed --mu 2 ");
  ASSERT_EQ(ended.codes(), all_end_well_) << ended.parties[0].err << ended.parties[1].err;
  EXPECT_EQ(document("report.json")["targets"], 1);
  // Five histograms of numbers, one of lengths, and a Gram matrix.
  for (std::size_t party = 0; party <= kSilos; ++party) EXPECT_EQ(charged(name(party, ".jsonl")).size(), 7U) << party;
}

TEST_F(NetworkTest, AModelIsEvaluatedPrivatelyByTheSilosThatHaveTrainedIt) {
  const std::string budget = "--noise distributed --epsilon 8 --delta 1e-5 ";
  ASSERT_EQ(run_parties("--method mean " + budget).codes(), all_end_well_);
  std::filesystem::rename(folder_ / "model.safetensors", folder_ / "trained");
  say_without_classes();
  const Ended ended = run_parties(
      "--evaluate trained --evaluate-metrics accuracy,topk,confusion --top-k 2 --class-groups merged.npy "
      "--group n1g.npy --groups 2 " +
      budget);
  ASSERT_EQ(ended.codes(), all_end_well_) << ended.parties[0].err << ended.parties[1].err;
  const json metrics = document("report.json")["metrics"];
  EXPECT_LE(metrics["accuracy"]["low"], metrics["accuracy"]["value"]);
  EXPECT_LE(metrics["accuracy"]["value"], metrics["accuracy"]["high"]);
  EXPECT_GT(metrics["accuracy"]["noise"], 0.0);
  EXPECT_EQ(metrics["top_k"]["k"], 2);
  EXPECT_EQ(metrics["by_group"].size(), 2U);
  EXPECT_EQ(metrics["confusion"]["counts"].size(), 2U);
  for (std::size_t party = 0; party <= kSilos; ++party) EXPECT_EQ(charged(name(party, ".jsonl")).size(), 2U) << party;
}

// Sets of labels are evaluated by F1 if no other figure is named.
TEST_F(NetworkTest, ADryRunOfASiloThatEvaluatesTellsOfTheEvaluation) {
  train_alone();
  const auto shown_of = [&](const std::string& options) {
    const ProgramRun shown = run_party(1, "--evaluate trained --dry-run " + options);
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    return shown.out;
  };
  expect_parts(shown_of("--evaluate-metrics accuracy --mu 0.5"),
               {"rows       8 features, 3 classes", "method     evaluate\n", "  evaluation ", "this run  mu 0.5, "});
  say_without_classes();
  EXPECT_THAT(shown_of("--mu 1 --max-labels 2 --max-predicted 3 --score-threshold 0.4"), HasSubstr("  evaluation "));
}

// Nobody listens for a roster that waits in vain.
TEST_F(NetworkTest, AnEvaluationThatCannotBeIsRefusedBeforeAnybodyIsCalled) {
  succeed("fit --classes 3 --non-private --method mean --out exact --train-x n1x.npy --train-y n1y.npy");
  train_alone();
  for (const auto& [options, code, said] :
       {std::tuple{"--evaluate exact --mu 1", 2, "give --public-model if the model is public"},
        {"--evaluate none --mu 1", 3, "none"},
        {"--evaluate trained", 2, "no privacy budget"},
        {"--evaluate trained --mu 1 --evaluate-metrics f1", 2, "--evaluate-metrics f1 goes with --max-labels"},
        {"--evaluate trained --mu 1 --positive 1", 2, "goes with --evaluate-metrics auc or roc"},
        {"--evaluate trained --mu 1 --max-predicted 2", 2, "--max-predicted goes with"},
        {"--evaluate trained --mu 1 --expected-rows 9", 2, "goes with --evaluate-metrics auc or roc"},
        {"--evaluate trained --mu 1 --score-threshold 1", 2, "--score-threshold goes with --max-labels"},
        {"--evaluate trained --mu 1 --classes 4", 2, "--classes 4: the model of --evaluate is for 3"}}) {
    SCOPED_TRACE(options);
    say_without_classes();
    for (const std::size_t party : {0, 1}) {
      const ProgramRun refused = run_party(party, options);
      expect_end(refused, code, said);
      EXPECT_THAT(refused.err, AllOf(Not(HasSubstr("listening")), Not(HasSubstr("waiting"))));
    }
  }
  expect_end(run_party(1, "--evaluate trained --mu 1 --groups 2"), 2, "--groups with --train-x goes with --group");
}

// Only a digest of names leaves a silo.
TEST_F(NetworkTest, SilosWhoseColumnsAreInAnotherOrderAreNotSummed) {
  const auto write = [&](std::size_t silo, const std::string& names) {
    std::string table = names + ",y\n";
    for (std::size_t row = 0; row < kRowsOfEach; ++row) table += fmt::format("{},{},{}\n", 0.5 + silo, row, row % 3);
    write_bytes(folder_ / name(silo, ".csv"), table);
  };
  write_in_roster("dim = 2", "dim = 8");
  rows_ = ".csv:-y";
  labels_ = ".csv:y";
  const auto run_with = [&](const std::string& of_third) {
    for (std::size_t silo = 1; silo <= kSilos; ++silo) write(silo, silo == 3 ? of_third : "age,weight");
    return run_parties("--method mean --threshold 4 --epsilon 4 --delta 1e-5 ");
  };
  // Whichever of the two digests is larger: each silo is told, and nobody is said to be wrong.
  const std::string said = "silos differ in the names of features, or in their order; here they are \"";
  for (const std::string of_third : {"weight,age", "age,wieght"}) {
    const Ended refused = run_with(of_third);
    for (std::size_t silo = 1; silo <= kSilos; ++silo) {
      std::string own = silo == 3 ? of_third : "age,weight";
      own.replace(own.find(','), 1, ", ");
      expect_end(refused.parties[silo], 3, said + own);
    }
    const std::string seen = refused.parties[0].err + bytes("n0.log");
    EXPECT_EQ(refused.parties[0].exit_code, 3);
    EXPECT_THAT(seen, AllOf(HasSubstr("silo 2 (n2), silo 4 (n4)"), HasSubstr("silo 3 (n3)"), HasSubstr(" against "),
                            Not(HasSubstr("weight"))));
  }
  EXPECT_FALSE(has("model.safetensors"));
  for (std::size_t party = 0; party <= kSilos; ++party) EXPECT_FALSE(has(name(party, ".jsonl"))) << party;
  EXPECT_EQ(run_with("age,weight").codes(), all_end_well_);
  // Each party has received what the coordinator wrote.
  const std::string digest = "model: SHA-256 " + to_hex(sha256(model()));
  for (std::size_t party = 0; party <= kSilos; ++party) EXPECT_THAT(bytes(name(party, ".log")), HasSubstr(digest));
  for (const auto& [silo, state] : document("n0.health")["parties"].items()) EXPECT_EQ(state, "left") << silo;
}

// kill -9 in the midst of a run. Of a silo: the run goes on without it, once its line was not made again. Of the
// coordinator: each silo ends within the same time, and says why.
TEST_F(NetworkTest, AKilledPartyIsLostAndAKilledCoordinatorEndsTheRunEverywhere) {
  for (const std::size_t killed : {5, 0}) {
    SCOPED_TRACE(killed);
    std::filesystem::remove(folder_ / "n0.log");
    say("threshold = 4\nsilo-timeout = 4\n");
    const Parties running =
        start_parties(told_to_all("--method gd --rounds 60 --noise distributed --epsilon 4 --delta 1e-5 "));
    wait_until([&] { return has("n0.log") && bytes("n0.log").find("phase open") != std::string::npos; },
               "the run does not begin");
    ::kill(running[killed]->pid(), SIGKILL);
    const double began = seconds_now();
    for (std::size_t party = 0; party <= kSilos; ++party) {
      const ProgramRun ended = running[party]->finish();
      if (party == killed) continue;
      EXPECT_EQ(ended.exit_code, killed == 0 ? 5 : 0) << party << ended.err;
      EXPECT_EQ(ended.err.find("the coordinator is unreachable: its connection broke") != std::string::npos,
                killed == 0);
    }
    EXPECT_LT(seconds_now() - began, kSecondsToEnd);
    if (killed == 0) continue;
    EXPECT_THAT(reason_of_loss(killed), HasSubstr("was not restored within 1 s"));
  }
}

// With four of five after the wait: the noise shares are those of the roster.
TEST_F(NetworkTest, ARunBeginsWithoutASiloThatDoesNotCome) {
  const std::string options = "--method mean --noise distributed --threshold 4 --epsilon 4 --delta 1e-5 ";
  const auto with_wait = [&](std::size_t party) { return party == 0 ? options + "--wait 1" : options; };
  const Ended four = finish(start_parties(with_wait, 4));
  for (const ProgramRun& party : four.parties) EXPECT_EQ(party.exit_code, 0) << party.err;
  expect_members(document("report.json")["silos"],
                 {{"count", kSilos}, {"summed", 4}, {"noise", {{"shares_at_least", 4}}}});
  EXPECT_NE(reason_of_loss(5), "");
  // A dry run shows the digest of options that the run had.
  std::filesystem::remove(folder_ / "n1.jsonl");
  const std::string log = bytes("n1.log");
  const std::string said = "Z options ";
  EXPECT_THAT(run_party(1, options + "--dry-run").out,
              HasSubstr("options of digest " + log.substr(log.find(said) + said.size(), 16)));
}

// The silo has no part in the run, and the others go on.
TEST_F(NetworkTest, ASiloThatWasToldOtherwiseRefusesAndSaysWhatDiffers) {
  const Ended all = run_without_third("--method mean --threshold 4 --delta 1e-5 --epsilon ", "3", "4", 5);
  for (std::size_t party = 0; party <= kSilos; ++party) {
    EXPECT_EQ(all.parties[party].err.find("with other options than this silo") != std::string::npos, party == 3);
  }
}

// Budget and consent are a silo's own: others learn that it takes no part. Its exit code would tell them why.
TEST_F(NetworkTest, ASiloThatRefusesByTermsOfItsOwnTellsNobodyWhy) {
  const std::string options = "--method mean --threshold 4 --epsilon 4 --delta 1e-5 ";
  for (const char* own : {"budget-epsilon = 0.5\nbudget-delta = 1e-5\n", "[consent]\nmost-mu = 0.1\n"}) {
    SCOPED_TRACE(own);
    write_bytes(folder_ / "own.toml", own);
    for (const char* file : {"n0.log", "n3.log"}) std::filesystem::remove(folder_ / file);
    const Ended all = run_without_third(options, "--silo-config own.toml", "", 4);
    std::string told;
    for (const std::size_t party : {0, 1, 2, 4, 5}) told += all.parties[party].err + bytes(name(party, ".log"));
    EXPECT_THAT(bytes("n3.log"), HasSubstr("end: exit code 4"));
    told += bytes("report.json") + succeed("privacy explain report.json").out;
    EXPECT_THAT(told, AllOf(HasSubstr("silo 3 (n3) has left: its process has ended"), Not(HasSubstr("exit code 4"))));
  }
}

// A silo whose program has another version, or makes shares of the noise that are too small, has no part in the run.
TEST_F(NetworkTest, OtherProgramsAreRefusedAndTheOthersGoOn) {
  const std::string options = "--method mean --noise distributed --threshold 4 --epsilon 4 --delta 1e-5 ";
  for (const auto& [program, said] : {std::pair{DPREDUCE_SMALL_SHARES, "it adds different noise than this party"},
                                      {DPREDUCE_OTHER_VERSION, "and this silo dpreduce 0.0.9"}}) {
    if (program == std::string(DPREDUCE_OTHER_VERSION) && !runs_slow_tests()) continue;  // only then it is built
    SCOPED_TRACE(program);
    const Parties running = start_parties(told_to_all(options), 4);
    const ProgramRun other =
        run_in_shell(fmt::format("{} {}", program, fmt::join(words_of(5, address(), options), " ")));
    EXPECT_EQ(other.exit_code, 5);
    EXPECT_EQ(finish(running).codes(), std::vector<int>(5, 0));
    EXPECT_THAT(reason_of_loss(5) + other.out, HasSubstr(said));
    EXPECT_FALSE(has("n5.jsonl"));
  }
}

// Before it has read a row. A file that is true only while the process lives goes with it; it is for its owner alone,
// since an exit code may tell of rows.
TEST_F(NetworkTest, ASiloThatWaitsIsSmallAndItsHealthFileIsItsOwnersAndGoesWithIt) {
  const auto silo = start_waiting_silo();
  const std::string status = read_bytes(fmt::format("/proc/{}/status", silo->pid()));
  const std::string peak = "VmHWM:";
  EXPECT_LE(std::stoul(status.substr(status.find(peak) + peak.size())), 30U * 1024U);  // KiB
  EXPECT_EQ(std::filesystem::status(folder_ / "n1.health").permissions(), std::filesystem::perms(0600));
  ::kill(silo->pid(), SIGTERM);
  EXPECT_EQ(silo->finish().exit_code, 128 + SIGTERM);
  EXPECT_FALSE(has("n1.health"));
}

// A file that stays behind says whose it is, when it was written, and that it is out of date by now.
TEST_F(NetworkTest, AHealthFileOfAKilledProcessSaysThatItIsOutOfDate) {
  const auto silo = start_waiting_silo();
  const pid_t process = document("n1.health")["pid"];
  ::kill(process, SIGKILL);
  silo->finish();
  const json health = document("n1.health");
  const std::time_t updated = health["updated"].get<std::time_t>();
  std::tm utc{};
  ::gmtime_r(&updated, &utc);
  EXPECT_THAT(health["note"].get<std::string>(),
              AllOf(HasSubstr(fmt::format("process {} wrote this at {:%Y-%m-%dT%H:%M:%SZ}", process, utc)),
                    HasSubstr("more than 10 s ago and there is no exit code, the process was killed")));
}

// The file is replaced every two seconds.
TEST_F(NetworkTest, AHealthFileReplacesNoOther) {
  write_bytes(folder_ / "n1.health", "notes");
  expect_end(run_party(1, "--method mean --epsilon 4 --delta 1e-5"), 3,
             "--health n1.health: already exists, and is not a health file");
  EXPECT_EQ(bytes("n1.health"), "notes");
}

// Simulations may do this, and parties over a network must not. Each is refused by name, before anybody is called.
TEST_F(NetworkTest, WhatIsOfSimulationsIsRefused) {
  std::map<std::string, std::string> refused{{"--log n{rank}.log2", "{rank} is of parties under mpirun"}};
  for (const std::string option :
       {"--seed 7", "--non-private", "--round-trip 40", "--bandwidth 100", "--packet-loss 1"}) {
    refused[option] = option.substr(0, option.find(' ')) + ": is refused by dpreduce";
  }
  for (const auto& [option, said] : refused) {
    SCOPED_TRACE(option);
    for (const std::size_t party : {0, 1}) {
      std::vector<std::string> words = words_of(party, kNobody, "--epsilon 1 --delta 1e-6");
      for (const std::string& word : {std::string("--log"), name(party, ".log")}) std::erase(words, word);
      expect_end(start(joined(words, split_arguments(option)), Form::kFork)->finish(), 2, said);
    }
  }
}

TEST_F(NetworkTest, APartyIsWhoItsIdentitySaysInTheRosterThatItNeeds) {
  save_new_identity(Identity::generate(), folder_ / "other.key", "");
  const std::string rows = "--train-x n1x.npy --train-y n1y.npy --epsilon 1 --delta 1e-6 --classes 3 ";
  const std::string silo = "silo --connect 127.0.0.1:1 " + rows;
  const std::string in_roster = silo + "--roster roster.toml ";
  write_bytes(folder_ / "numbered.toml", "silo = 1\nidentity = \"n1.key\"\n");
  write_bytes(folder_ / "common_word.toml", "epsilon = 2\nidentity = \"n1.key\"\n");
  const std::vector<std::tuple<std::string, int, std::string>> refused{
      {silo + "--identity n1.key", 2, "--roster"},
      {in_roster, 2, "--identity"},
      {in_roster + "--identity other.key", 3, "is not in --roster"},
      {in_roster + "--identity n0.key", 3,
       "belongs to the coordinator in --roster roster.toml; start it with dpreduce coordinator"},
      {"coordinator --listen 127.0.0.1:0 --classes 3 --epsilon 1 --delta 1e-6 --roster roster.toml --identity n2.key",
       3, "belongs to silo \"n2\""},
      {"silo --connect nowhere " + rows + "--roster roster.toml --identity n1.key", 2, "HOST:PORT"},
      {in_roster + "--silo-config numbered.toml", 3, "over a network --identity names the party"},
      {in_roster + "--silo-config common_word.toml", 3, "'epsilon' must be the same for all parties"}};
  for (const auto& [line, code, said] : refused) expect_refused(line, code, said);
}

// The command lines of examples/silos: those of the units, whose lines go on behind a backslash, and those of the
// compose file, lists of words.
std::vector<std::vector<std::string>> example_lines() {
  const std::string folder = DPREDUCE_SOURCE "/examples/silos/";
  std::vector<std::vector<std::string>> lines;
  // Each text between two marks, whose words are apart by any of these characters.
  const auto add = [&](const std::string& text, const std::string& from, const std::string& to,
                       const std::string& separators) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
      const std::size_t first = at + from.size();
      std::string words = text.substr(first, text.find(to, first) - first);
      std::ranges::replace_if(
          words, [&](char one) { return separators.find(one) != std::string::npos; }, ' ');
      lines.push_back(split_arguments(words));
    }
  };
  for (const char* unit : {"dpreduce-coordinator.service", "dpreduce-silo.service"}) {
    std::string text = read_bytes(folder + unit);
    for (std::size_t end = 0; (end = text.find("\\\n", end)) != std::string::npos;) text.replace(end, 2, " ");
    add(text, "ExecStart=/usr/bin/dpreduce ", "\n", "");
  }
  add(read_bytes(folder + "compose.yaml"), "command: [", "]", ",\"\n");
  return lines;
}

// With the files that the pages name: a silo shows what it would send. A coordinator has nothing to show, and says so
// once its options and files were read.
TEST_F(NetworkTest, ExamplesNameOptionsAndFilesThatThereAre) {
  write_bytes(folder_ / "common.toml", "threads = 1\nclasses = 3\nepsilon = 4\ndelta = 1e-5\nmethod = \"mean\"\n");
  for (const auto& [party, number] : {std::pair{"hub", 0}, {"north", 1}, {"south", 2}, {"west", 3}}) {
    std::filesystem::copy_file(folder_ / fmt::format("n{}.key", number), folder_ / fmt::format("{}.key", party));
    write_bytes(folder_ / fmt::format("{}.toml", party),
                number == 0
                    ? "log = \"hub.log\"\n"
                    : fmt::format("train-x = [\"n{0}x.npy\"]\ntrain-y = [\"n{0}y.npy\"]\nledger = \"{1}.jsonl\"\n",
                                  number, party));
  }
  const auto lines = example_lines();
  EXPECT_EQ(lines.size(), 6U);
  for (std::vector<std::string> words : lines) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(words, " ")));
    const bool is_coordinator = words.at(0) == "coordinator";
    *std::next(std::ranges::find(words, is_coordinator ? "--listen" : "--connect")) = "127.0.0.1:0";
    *std::next(std::ranges::find(words, "--health")) = "health.json";
    words.emplace_back("--dry-run");
    const ProgramRun run = run_program(words, {.folder = folder_.path()});
    EXPECT_EQ(run.exit_code, is_coordinator ? 2 : 0) << run.err;
    EXPECT_THAT(run.err + run.out, HasSubstr(is_coordinator ? "a coordinator has no rows" : "dry run"));
  }
}

TEST_F(NetworkTest, UnitsAreWhatSystemdReads) {
  if (!std::filesystem::exists("/usr/bin/systemd-analyze")) GTEST_SKIP() << "no systemd-analyze";
  for (const char* unit : {"dpreduce-coordinator.service", "dpreduce-silo.service"}) {
    std::string text = read_bytes(DPREDUCE_SOURCE "/examples/silos/" + std::string(unit));
    text.replace(text.find("/usr/bin/dpreduce"), 17, program_path());
    write_bytes(folder_ / unit, text);
    const ProgramRun verified = run_in_shell(fmt::format("systemd-analyze verify --man=no '{}'", folder_ / unit));
    EXPECT_EQ(verified.exit_code, 0);
    EXPECT_THAT(verified.out, Not(HasSubstr(unit)));
  }
}

// No launcher starts a party: the program itself refuses that.
TEST_F(NetworkTest, APartyIsNoRankOfALauncher) {
  const ProgramRun run =
      run_program(words_of(1, kNobody, "--epsilon 1 --delta 1e-6"),
                  {.folder = folder_.path(), .environment = {{"OMPI_COMM_WORLD_RANK", "1"}}, .keeps_files = true});
  expect_end(run, 2, "start it without mpirun");
}

}  // namespace dpreduce::network_test
