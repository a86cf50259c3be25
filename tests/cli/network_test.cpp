// dpreduce coordinator and dpreduce silo: runs of processes of their own.
#include <fmt/chrono.h>

#include "tests/cli/network_processes.hpp"
#include "tests/network/line_proxy.hpp"
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
  // The options that differ for the third silo.
  static OptionsOf with_third(const std::string& options, const std::string& of_third, const std::string& of_others) {
    return [=](std::size_t party) { return options + (party == 3 ? of_third : of_others); };
  }
  // The built program, which waits for its coordinator in vain, once it has a health file.
  std::unique_ptr<RunningProgram> start_waiting_silo() const {
    auto silo = start(1, kNobody, "--method mean --epsilon 4 --delta 1e-5", Form::kProgram);
    wait_until([&] { return has("n1.health"); }, "the silo does not begin");
    return silo;
  }
};

// The bits of the form under a launcher, which are those of one process with all rows (place_matrix_test.cpp): whoever
// adds the noise. Each silo's ledger holds what it holds there.
TEST_F(NetworkTest, ModelsAndLedgersAreThoseOfPartiesUnderALauncher) {
  std::vector<std::string> ways{"--method mean", "--method ls --noise distributed", "--method fc --rounds 2",
                                "--method auto --rounds 2 --noise distributed"};
  if (runs_slow_tests()) {
    ways.insert(ways.end(), {"--method mean --noise distributed", "--method ls", "--method gd --rounds 2",
                             "--method fc --rounds 2 --noise distributed", "--method auto --rounds 2",
                             "--method newton --rounds 2 --noise distributed", "--method global-adapt --rounds 2",
                             "--method coinpress", "--method fisher --noise distributed"});
  }
  for (const std::string& way : ways) {
    const std::string options = way + " --epsilon 4 --delta 1e-5 ";
    for (std::size_t party = 0; party <= kSilos; ++party) {
      for (const char* whose : {"n", "m"}) std::filesystem::remove(folder_ / fmt::format("{}{}.jsonl", whose, party));
    }
    const std::string expected = model_under_launcher(options);
    EXPECT_EQ(run_seeded(told_to_all(options)), all_end_well_) << way << bytes("n0.log");
    EXPECT_TRUE(model() == expected) << way;
    for (std::size_t party = 0; party <= kSilos; ++party) {
      const std::string ledger = fmt::format("m{}.jsonl", party);
      EXPECT_FALSE(charged(ledger).empty());
      EXPECT_EQ(charged(name(party, ".jsonl")), charged(ledger)) << way << " party " << party;
    }
  }
}

TEST_F(NetworkTest, PersonsAreTheUnitOverANetworkAsWell) {
  const std::string options =
      "--method mean --metric euclidean --noise distributed --epsilon 4 --delta 1e-5 --rows-per-person 2 ";
  const std::string expected = model_under_launcher(options + "--train-person n{rank}p.npy");
  const auto with_own_persons = [&](std::size_t party) {
    return party == 0 ? options : options + "--train-person " + name(party, "p.npy");
  };
  EXPECT_EQ(run_seeded(with_own_persons), all_end_well_);
  EXPECT_TRUE(model() == expected);
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

// Of sets of labels by F1, where no other figure is named.
TEST_F(NetworkTest, ADryRunOfASiloThatEvaluatesTellsOfTheEvaluation) {
  train_alone();
  const ProgramRun shown = run_party(1, "--evaluate trained --evaluate-metrics accuracy --mu 0.5 --dry-run");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("rows       8 features, 3 classes"), HasSubstr("method     evaluate\n"),
                               HasSubstr("  evaluation "), HasSubstr("this run  mu 0.5, ")));
  say_without_classes();
  const ProgramRun of_sets =
      run_party(1, "--evaluate trained --mu 1 --max-labels 2 --max-predicted 3 --score-threshold 0.4 --dry-run");
  EXPECT_EQ(of_sets.exit_code, 0) << of_sets.err;
  EXPECT_THAT(of_sets.out, HasSubstr("  evaluation "));
}

// Nobody listens for a roster that waits in vain.
TEST_F(NetworkTest, AnEvaluationThatCannotBeIsRefusedBeforeAnybodyIsCalled) {
  succeed("fit --classes 3 --non-private --method mean --out exact --train-x n1x.npy --train-y n1y.npy");
  train_alone();
  for (const auto& [options, code, said] :
       {std::tuple{"--evaluate exact --mu 1", 2, "give --public-model if the model is public"},
        std::tuple{"--evaluate none --mu 1", 3, "none"}, std::tuple{"--evaluate trained", 2, "no privacy budget"},
        std::tuple{"--evaluate trained --mu 1 --evaluate-metrics f1", 2,
                   "--evaluate-metrics f1 goes with --max-labels"},
        std::tuple{"--evaluate trained --mu 1 --positive 1", 2, "goes with --evaluate-metrics auc or roc"},
        std::tuple{"--evaluate trained --mu 1 --max-predicted 2", 2, "--max-predicted goes with"},
        std::tuple{"--evaluate trained --mu 1 --expected-rows 9", 2, "goes with --evaluate-metrics auc or roc"},
        std::tuple{"--evaluate trained --mu 1 --score-threshold 1", 2, "--score-threshold goes with --max-labels"},
        std::tuple{"--evaluate trained --mu 1 --classes 4", 2, "--classes 4: the model of --evaluate is for 3"}}) {
    SCOPED_TRACE(options);
    say_without_classes();
    for (const std::size_t party : {0, 1}) {
      const ProgramRun refused = run_party(party, options);
      EXPECT_EQ(refused.exit_code, code) << refused.err;
      EXPECT_THAT(refused.err, AllOf(HasSubstr(said), Not(HasSubstr("listening")), Not(HasSubstr("waiting"))));
    }
  }
  const ProgramRun lacks_group = run_party(1, "--evaluate trained --mu 1 --groups 2");
  EXPECT_EQ(lacks_group.exit_code, 2);
  EXPECT_THAT(lacks_group.err, HasSubstr("--groups with --train-x goes with --group"));
}

// The built program, with noise that nobody knows, on lines that are cut again and again.
TEST_F(NetworkTest, ARunGoesOnOverLinesThatAreCut) {
  std::map<std::size_t, std::unique_ptr<LineProxy>> proxies;
  const auto through_proxy = [&](std::size_t silo, const std::string& listens) {
    const auto port = static_cast<std::uint16_t>(std::stoul(listens.substr(listens.rfind(':') + 1)));
    if (silo > 2) return listens;
    proxies[silo] = std::make_unique<LineProxy>(port);
    proxies[silo]->cut_every(4000);
    return fmt::format("127.0.0.1:{}", proxies[silo]->port());
  };
  const Ended ended =
      run_parties("--method fc --rounds 3 --noise distributed --epsilon 4 --delta 1e-5", through_proxy, Form::kProgram);
  EXPECT_EQ(ended.codes(), all_end_well_) << ended.parties[0].err << bytes("n1.log");
  EXPECT_GT(proxies[1]->connections(), 2U);
  EXPECT_THAT(bytes("n0.log"), HasSubstr("the connection to silo 1 (n1) is broken"));
  const json report = document("report.json");
  expect_members(report, {{"silos", {{"summed", kSilos}, {"lost", json::array()}}}, {"private", true}});
  EXPECT_EQ(document("n0.health")["state"], "ended");
  EXPECT_EQ(document("n1.health")["exit_code"], 0);
  EXPECT_THAT(ended.parties[0].err, AllOf(HasSubstr("5 of 5 silos are connected"), HasSubstr("the run begins")));
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
      EXPECT_EQ(refused.parties[silo].exit_code, 3) << silo;
      EXPECT_THAT(refused.parties[silo].err, HasSubstr(said + own)) << silo;
    }
    const std::string seen = refused.parties[0].err + bytes("n0.log");
    EXPECT_EQ(refused.parties[0].exit_code, 3);
    EXPECT_THAT(seen, AllOf(HasSubstr("silo 2 (n2), silo 4 (n4)"), HasSubstr("silo 3 (n3)"), HasSubstr(" against "),
                            Not(HasSubstr("weight"))));
  }
  EXPECT_FALSE(has("model.safetensors"));
  for (std::size_t party = 0; party <= kSilos; ++party) EXPECT_FALSE(has(name(party, ".jsonl"))) << party;
  EXPECT_EQ(run_with("age,weight").codes(), all_end_well_);
  // What each party has received is what the coordinator wrote.
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
    const json lost = document("report.json")["silos"]["lost"];
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0]["silo"], killed);
    EXPECT_THAT(lost[0]["reason"].get<std::string>(), HasSubstr("was not restored within 1 s"));
  }
}

// With four of five after the wait: the noise shares are those of the roster.
TEST_F(NetworkTest, ARunBeginsWithoutASiloThatDoesNotCome) {
  const std::string options = "--method mean --noise distributed --threshold 4 --epsilon 4 --delta 1e-5 ";
  const auto with_wait = [&](std::size_t party) { return party == 0 ? options + "--wait 1" : options; };
  const Ended four = finish(start_parties(with_wait, 4));
  for (const ProgramRun& party : four.parties) EXPECT_EQ(party.exit_code, 0) << party.err;
  const json silos = document("report.json")["silos"];
  expect_members(silos, {{"count", kSilos}, {"summed", 4}, {"noise", {{"shares_at_least", 4}}}});
  EXPECT_EQ(silos["lost"][0]["silo"], 5);
  // A dry run shows the digest of options that the run had.
  std::filesystem::remove(folder_ / "n1.jsonl");
  const ProgramRun shown = run_party(1, options + "--dry-run");
  const std::string log = bytes("n1.log");
  const std::string said = "Z options ";
  EXPECT_THAT(shown.out, HasSubstr("options of digest " + log.substr(log.find(said) + said.size(), 16))) << shown.err;
}

// It has no part in the run, and the others go on.
TEST_F(NetworkTest, ASiloThatWasToldOtherwiseRefusesAndSaysWhatDiffers) {
  const Ended all = run_parties(with_third("--method mean --threshold 4 --delta 1e-5 --epsilon ", "3", "4"));
  for (std::size_t party = 0; party <= kSilos; ++party) {
    const ProgramRun& ended = all.parties[party];
    EXPECT_EQ(ended.exit_code, party == 3 ? 5 : 0) << ended.err;
    EXPECT_EQ(ended.err.find("with other options than this silo") != std::string::npos, party == 3);
  }
  EXPECT_EQ(document("report.json")["silos"]["lost"][0]["silo"], 3);
}

// Budget and consent are a silo's own: others learn that it takes no part. Its exit code would tell them why.
TEST_F(NetworkTest, ASiloThatRefusesByTermsOfItsOwnTellsNobodyWhy) {
  const OptionsOf options =
      with_third("--method mean --threshold 4 --epsilon 4 --delta 1e-5 ", "--silo-config own.toml", "");
  for (const char* own : {"budget-epsilon = 0.5\nbudget-delta = 1e-5\n", "[consent]\nmost-mu = 0.1\n"}) {
    SCOPED_TRACE(own);
    write_bytes(folder_ / "own.toml", own);
    for (const char* file : {"n0.log", "n3.log"}) std::filesystem::remove(folder_ / file);
    const Ended all = run_parties(options);
    std::string told;
    for (std::size_t party = 0; party <= kSilos; ++party) {
      const ProgramRun& ended = all.parties[party];
      EXPECT_EQ(ended.exit_code, party == 3 ? 4 : 0) << ended.err;
      if (party != 3) told += ended.err + bytes(name(party, ".log"));
    }
    EXPECT_THAT(bytes("n3.log"), HasSubstr("end: exit code 4"));
    EXPECT_EQ(document("report.json")["silos"]["lost"][0]["silo"], 3);
    told += bytes("report.json") + succeed("privacy explain report.json").out;
    EXPECT_THAT(told, AllOf(HasSubstr("silo 3 (n3) has left: its process has ended"), Not(HasSubstr("exit code 4"))));
  }
}

// A silo whose program has another version, or makes shares of the noise that are too small, has no part in the run.
TEST_F(NetworkTest, OtherProgramsAreRefusedAndTheOthersGoOn) {
  const std::string options = "--method mean --noise distributed --threshold 4 --epsilon 4 --delta 1e-5 ";
  for (const auto& [program, said] : {std::pair{DPREDUCE_SMALL_SHARES, "it adds different noise than this party"},
                                      std::pair{DPREDUCE_OTHER_VERSION, "and this silo dpreduce 0.0.9"}}) {
    if (program == std::string(DPREDUCE_OTHER_VERSION) && !runs_slow_tests()) continue;  // only then it is built
    SCOPED_TRACE(program);
    const Parties running = start_parties(told_to_all(options), 4);
    const ProgramRun other =
        run_in_shell(fmt::format("{} {}", program, fmt::join(words_of(5, address(), options), " ")));
    EXPECT_EQ(other.exit_code, 5);
    EXPECT_EQ(finish(running).codes(), std::vector<int>(5, 0));
    const json lost = document("report.json")["silos"]["lost"];
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0]["silo"], 5);
    EXPECT_THAT(lost[0]["reason"].get<std::string>() + other.out, HasSubstr(said));
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

// What stays behind says itself whose it is, when it was written, and that it is out of date by now.
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

// It is replaced every two seconds.
TEST_F(NetworkTest, AHealthFileReplacesNoOther) {
  write_bytes(folder_ / "n1.health", "notes");
  const ProgramRun refused = run_party(1, "--method mean --epsilon 4 --delta 1e-5");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("--health n1.health: already exists, and is not a health file"));
  EXPECT_EQ(bytes("n1.health"), "notes");
}

// What simulations may do, and parties over a network must not: each is refused by name, before anybody is called.
TEST_F(NetworkTest, WhatIsOfSimulationsIsRefused) {
  const std::vector<std::pair<std::string, std::string>> refused{
      {"--seed 7", "--seed: is refused by dpreduce"},
      {"--non-private", "--non-private: is refused by dpreduce"},
      {"--round-trip 40", "--round-trip: is refused by dpreduce"},
      {"--bandwidth 100", "--bandwidth: is refused by dpreduce"},
      {"--packet-loss 1", "--packet-loss: is refused by dpreduce"},
      {"--log n{rank}.log2", "{rank} is of parties under mpirun"}};
  for (const auto& [option, said] : refused) {
    for (const std::size_t party : {0, 1}) {
      std::vector<std::string> words = words_of(party, "127.0.0.1:1", "--epsilon 1 --delta 1e-6");
      std::erase(words, "--log");
      std::erase(words, name(party, ".log"));
      const ProgramRun run =
          run_program(joined(words, split_arguments(option)), {.folder = folder_.path(), .keeps_files = true});
      EXPECT_EQ(run.exit_code, 2) << option << run.err;
      EXPECT_THAT(run.err, HasSubstr(said));
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
  for (const auto& [line, code, said] : refused) {
    const ProgramRun ended = run(line);
    EXPECT_EQ(ended.exit_code, code) << line << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(said)) << line;
  }
}

// The command lines of examples/silos: those of the units, whose lines go on behind a backslash, and those of the
// compose file, lists of words.
std::vector<std::vector<std::string>> example_lines() {
  const std::string folder = DPREDUCE_SOURCE "/examples/silos/";
  std::vector<std::vector<std::string>> lines;
  const auto add = [&](std::string text, const std::string& separators) {
    for (char& letter : text) {
      if (separators.find(letter) != std::string::npos) letter = ' ';
    }
    std::istringstream words(text);
    lines.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  };
  for (const char* unit : {"dpreduce-coordinator.service", "dpreduce-silo.service"}) {
    const std::string text = read_bytes(folder + unit);
    const std::string start = "ExecStart=/usr/bin/dpreduce ";
    const std::size_t first = text.find(start) + start.size();
    std::size_t end = text.find('\n', first);
    while (text[end - 1] == '\\') end = text.find('\n', end + 1);
    add(text.substr(first, end - first), "\\\n");
  }
  const std::string compose = read_bytes(folder + "compose.yaml");
  const std::string command = "command: [";
  for (std::size_t at = compose.find(command); at != std::string::npos; at = compose.find(command, at + 1)) {
    const std::size_t first = at + command.size();
    add(compose.substr(first, compose.find(']', first) - first), ",\"\n");
  }
  return lines;
}

// With the files that the pages name: a silo shows what it would send. A coordinator has nothing to show, and says so
// once its options and files were read.
TEST_F(NetworkTest, ExamplesNameOptionsAndFilesThatThereAre) {
  write_bytes(folder_ / "common.toml", "threads = 1\nclasses = 3\nepsilon = 4\ndelta = 1e-5\nmethod = \"mean\"\n");
  const std::vector<std::pair<std::string, std::size_t>> parties{{"hub", 0}, {"north", 1}, {"south", 2}, {"west", 3}};
  for (const auto& [party, number] : parties) {
    std::filesystem::copy_file(folder_ / name(number, ".key"), folder_ / (party + ".key"));
    write_bytes(folder_ / (party + ".toml"),
                number == 0 ? "log = \"hub.log\"\n"
                            : fmt::format("train-x = [\"{}\"]\ntrain-y = [\"{}\"]\nledger = \"{}.jsonl\"\n",
                                          name(number, "x.npy"), name(number, "y.npy"), party));
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
  const ProgramRun run = run_program(words_of(1, "127.0.0.1:1", "--epsilon 1 --delta 1e-6"),
                                     {.folder = folder_.path(),
                                      .form = Form::kProgram,
                                      .environment = {{"OMPI_COMM_WORLD_RANK", "1"}},
                                      .keeps_files = true});
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_THAT(run.err, HasSubstr("start it without mpirun"));
}

}  // namespace dpreduce::network_test
