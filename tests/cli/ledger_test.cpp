// dpreduce ledger show, verify and release, on ledgers that the program wrote.
#include "common/ledger/ledger.hpp"

#include <sys/stat.h>

#include "common/ledger/ledger_line.hpp"
#include "common/ledger/run_file.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::ledger_test {

class LedgerCommands : public ProgramTest {
 protected:
  LedgerCommands() { write_rows(make_rows({20, 20}, 4)); }

  std::string ledger() const { return bytes("ledger.jsonl"); }
  void set_ledger(const std::string& text) const { write_bytes(folder_ / "ledger.jsonl", text); }

  static RunTerms terms_of(const std::string& method) {
    RunTerms terms;
    terms.method = method;
    terms.is_private = true;
    terms.config_digest = std::string(64, 'a');
    terms.version = "0.1.0";
    return terms;
  }
  // A round of a run of two, which is reserved before the first.
  void charge(const std::string& run_id, int round = 1) const {
    Ledger on_disk(folder_ / "ledger.jsonl");
    const RunTerms terms = terms_of("gd");
    if (round == 1) {
      on_disk.reserve({.run_id = run_id,
                       .terms = terms,
                       .releases = {{.name = "gradient", .rounds = 2, .mu = 0.25}},
                       .selections = {}});
    }
    on_disk.append({.release_id = fmt::format("{}/gradient/{}", run_id, round),
                    .terms = terms,
                    .blocks = {{"sum", 8, 4, 16}},
                    .mu = 0.25});
  }

  const std::string fit_ = "fit --method mean --train-x x.npy --train-y y.npy --classes 2 --mu 0.3 --out model ";
};

TEST_F(LedgerCommands, ShowTellsWhatWasReleasedAndItsSum) {
  for (int release = 0; release < 3; ++release) succeed(fit_);
  const json shown = figures("ledger show", 2);
  ASSERT_EQ(shown["releases"].size(), 3U);
  for (const char* field : {"release", "time", "method", "adjacency", "blocks", "mu", "rho", "private"}) {
    EXPECT_TRUE(shown["releases"][0].contains(field)) << field;
  }
  EXPECT_NEAR(shown["mu"], 0.3 * std::sqrt(3.0), 1e-9);
  EXPECT_TRUE(shown["open_runs"].empty());
  const std::string text = succeed("ledger show").out;
  EXPECT_THAT(text, testing::EndsWith("\nSpent by all runs together, as if about the same records\n"
                                      "epsilon    2.09\ndelta      1e-05\nmu         0.52\nneighbors  add-remove\n"
                                      "runs       3\nreleases   3\n"));
  EXPECT_THAT(text, Not(HasSubstr("Open runs")));
}

TEST_F(LedgerCommands, ShowTellsEpsilonAtTheRunsOwnDelta) {
  const std::string fit = "fit --method mean --train-x x.npy --train-y y.npy --classes 2 --epsilon 1 --delta ";
  succeed(fit + "1e-7 --report r.json");
  EXPECT_THAT(succeed("ledger show").out, HasSubstr("\nepsilon    1\ndelta      1e-07\n"));
  EXPECT_NEAR(figures("ledger show", 2)["runs"][0]["so_far"]["epsilon"], 1.0, 1e-9);
  const json spent = document("r.json")["ledger"]["spent"];
  EXPECT_NEAR(spent["epsilon"], 1.0, 1e-9);
  EXPECT_EQ(spent["runs"], 1);
  succeed(fit + "1e-6");
  expect_parts(succeed("ledger show").out, {"\ndeltas of runs 2, from 1e-07 to 1e-06\n", "\ndelta          1e-07\n"});
  EXPECT_EQ(figures("ledger show", 2)["deltas_of_runs"], (json{1e-7, 1e-6}));
  EXPECT_THAT(succeed("ledger show --delta 1e-5").out, HasSubstr("\ndelta          1e-05\n"));
}

TEST_F(LedgerCommands, NamesOfDataSetsOnEarlierLinesDivideNothing) {
  std::filesystem::copy(DPREDUCE_TEST_DATA "/reference/ledger_with_names.jsonl", folder_ / "ledger.jsonl");
  EXPECT_THAT(succeed("ledger verify").out, HasSubstr("6 lines, intact"));
  const json shown = figures("ledger show", 2);
  EXPECT_NEAR(shown["mu"], std::sqrt(0.09 + 0.08), 1e-12);
  EXPECT_NEAR(shown["runs"][1]["so_far"]["mu"], std::sqrt(0.09 + 0.08), 1e-12);
  EXPECT_THAT(succeed("ledger show").out, HasSubstr("\nepsilon    1.61\ndelta      1e-05\n"));
}

// Rounds on samples: an exchange costs more than a record that is there or not.
TEST_F(LedgerCommands, TotalsAreUnderTheStrictestRelationOfTheLines) {
  const std::string fit =
      "fit --method gd --rounds 2 --batch 0.5 --epsilon 1 --delta 1e-5 --accountant pld --train-x x.npy --train-y "
      "y.npy --classes 2 --overwrite --report r.json ";
  succeed(fit + "--adjacency replace-one");
  const json shown = figures("ledger show", 2);
  EXPECT_EQ(shown["adjacency"], "replace-one");
  EXPECT_NEAR(shown["epsilon"], 1.0, 1e-3);
  EXPECT_THAT(succeed("ledger show").out, HasSubstr("\nneighbors  replace-one\n"));
  EXPECT_THAT(succeed("ledger show --adjacency add-remove").out, HasSubstr("\nneighbors  add-remove\n"));
  EXPECT_LT(figures("ledger show --adjacency add-remove")["epsilon"], 0.8);
  succeed(fit);
  const json spent = document("r.json")["ledger"]["spent"];
  EXPECT_EQ(spent["adjacency"], "replace-one");
  EXPECT_NEAR(spent["epsilon"], figures("ledger show", 2)["epsilon"], 1e-9);
  EXPECT_GT(spent["epsilon"], 2.0);
}

TEST_F(LedgerCommands, RunsAtTheSameTimeHaveAParagraphEach) {
  for (const char* run_id : {"run-1", "run-2"}) charge(run_id);
  charge("run-1", 2);
  const std::string text = succeed("ledger show").out;
  EXPECT_THAT(text, testing::ContainsRegex("gradient/1 to gradient/2 +2 +8 .* 0\\.25\n"));
  EXPECT_THAT(text, testing::ContainsRegex("gradient/1 +1 +8 .* 0\\.25\n"));
  EXPECT_EQ(text.find("  run run-1  gd  epsilon"), text.rfind("  run run-1  gd  epsilon"));
}

TEST_F(LedgerCommands, AnEditedLedgerIsFound) {
  for (int release = 0; release < 2; ++release) succeed(fit_);
  const std::string intact = ledger();
  const std::vector<std::string> lines = lines_of(intact);
  EXPECT_THAT(succeed("ledger verify ledger.jsonl").out,
              HasSubstr(std::to_string(lines.size()) + " lines, intact; signed with its own key, "));
  const auto text_of = [](const auto& parts) { return fmt::format("{}\n", fmt::join(parts, "\n")); };
  const auto without = [&](std::ptrdiff_t gone) {
    std::vector<std::string> rest = lines;
    rest.erase(rest.begin() + gone);
    return text_of(rest);
  };
  std::string middle = intact;
  middle[middle.find("\"mu\":") + 7] ^= 1;
  std::vector<std::string> swapped = lines;
  std::swap(swapped[1], swapped[2]);
  for (const std::string& text :
       {middle, text_of(swapped), without(0), without(2), intact.substr(0, intact.size() - 9)}) {
    set_ledger(text);
    for (const std::string& command : std::vector<std::string>{"ledger verify ledger.jsonl", "ledger show", fit_}) {
      expect_refused(command, 6, "ledger.jsonl:");
    }
  }
}

// The last line is a charge of a run that was killed: sigma x 10 and mu / 10 are consistent, and a lie.
TEST_F(LedgerCommands, AConsistentEditOfTheLastLineIsFound) {
  charge("run-1");
  std::string text = ledger();
  for (const auto& [from, to] : {std::pair{"\"sigma\":16.0", "\"sigma\":160.0"},
                                 {"\"mu\":0.25,\"rho\":0.03125", "\"mu\":0.025,\"rho\":0.00031250000000000006"}}) {
    text.replace(text.rfind(from), std::strlen(from), to);
  }
  set_ledger(text);
  expect_refused("ledger verify", 6, "ledger.jsonl:3: the signature does not match this line");
  expect_refused(fit_, 6, "ledger.jsonl:3: ");
}

TEST_F(LedgerCommands, VerifyWithAReportFindsACutTailAndAnotherLedger) {
  succeed(fit_);
  const std::string first = ledger();
  for (const std::string& fit : {fit_ + "--report r.json", fit_}) {
    succeed(fit);
    EXPECT_THAT(succeed("ledger verify --report r.json").out, HasSubstr("all lines of r.json are there"));
  }
  set_ledger(first);
  EXPECT_THAT(succeed("ledger verify").out, HasSubstr("4 lines, intact"));
  expect_refused("ledger verify --report r.json", 6, "its end was cut off");
  succeed(fit_);
  expect_refused("ledger verify --report r.json", 6, "others written in their place");

  for (const char* file : {"ledger.jsonl", "ledger.jsonl.signing-key"}) std::filesystem::remove(folder_ / file);
  for (int release = 0; release < 3; ++release) succeed(fit_);
  expect_refused("ledger verify --report r.json", 6, "another ledger");

  expect_refused("ledger verify --report absent.json", 3, "absent.json");
  write_bytes(folder_ / "no.json", "no report");
  expect_refused("ledger verify --report no.json", 3, "no.json: not a JSON file");
  succeed(
      "fit --train-x x.npy --train-y y.npy --classes 2 --method mean --non-private --out model --report plain.json");
  expect_refused("ledger verify --report plain.json", 3, "plain.json: does not record the state of a ledger");
}

TEST_F(LedgerCommands, AKeyThatOthersMayUseIsRefusedAndAnExchangedOneIsFound) {
  succeed(fit_);
  ::chmod((folder_ / "ledger.jsonl.signing-key").c_str(), 0644);
  for (const std::string& command : {fit_, std::string("ledger verify")}) {
    expect_refused(command, 3, "ledger.jsonl.signing-key: has the permissions 0644, and must have 0600");
  }
  EXPECT_EQ(run("ledger show").exit_code, 0) << "readers need no key";
  std::filesystem::remove(folder_ / "ledger.jsonl.signing-key");
  EXPECT_THAT(succeed("ledger verify").out, HasSubstr("; signed with the key "));
  expect_refused(fit_, 3, "its signing key ledger.jsonl.signing-key is missing");
  find_or_make_signing_key(folder_ / "ledger.jsonl");
  expect_refused("ledger verify", 6, "the ledger or its key was replaced");
  expect_refused(fit_, 6, "the ledger or its key was replaced");
}

TEST_F(LedgerCommands, ShowTellsOpenRunsAndReleaseGivesThemUp) {
  charge("run-1");
  const json open = figures("ledger show")["open_runs"];
  ASSERT_EQ(open.size(), 1U);
  EXPECT_TRUE(open[0].contains("since"));
  expect_members(open[0], json::parse(R"({"run":"run-1","releases":[{"name":"gradient","rounds":1,"mu":0.25}]})"));
  const std::string text = succeed("ledger show", 2).out;
  EXPECT_THAT(text, HasSubstr("\nreleases   1\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\nOpen runs, .*\n.*\n.*Z, run run-1, gd\n.*\n  gradient +1 +0\\.25 "));

  const std::string budget = "--budget-epsilon 1.9 --budget-delta 1e-6 ";  // mu 0.45 of 0.25, 0.25 and 0.3
  expect_refused(fit_ + budget, 4, "open runs may still charge 1.07");
  EXPECT_THAT(succeed("ledger release run-1", 2).out,
              HasSubstr("run run-1 is given up; its reservation that was not charged is released:"));
  EXPECT_TRUE(figures("ledger show")["open_runs"].empty());
  succeed(fit_ + budget);
  expect_refused("ledger release run-1", 2, "ledger.jsonl has no open run of that name");
  expect_refused("ledger release run-9 ledger.jsonl", 2, "ledger release run-9: ");
  expect_refused("ledger release run-9 absent.jsonl", 3, "absent.jsonl: no such ledger");
  expect_refused("ledger show " + std::string(300, 'l'), 3, "File name too long");
  expect_refused("ledger release", 2, "run");
}

// A whole program that lives: reservation_test.
TEST_F(LedgerCommands, ReleaseRefusesALivingRunAndRemovesTheFileOfADeadOne) {
  std::string run_id;
  {
    const RunFile living = RunFile::make(folder_ / "ledger.jsonl", std::string(64, 'b'), SavesReleases::kYes);
    run_id = living.run_id();
    charge(run_id);
    expect_refused("ledger release " + run_id, 3, run_id + ".releases: its run is still running");
    EXPECT_EQ(run_files().size(), 1U);
    EXPECT_EQ(Ledger::read(folder_ / "ledger.jsonl").open_runs().size(), 1U);
  }
  EXPECT_THAT(succeed("ledger release " + run_id).out, HasSubstr("it cannot be resumed"));
  EXPECT_TRUE(run_files().empty());
  EXPECT_EQ(Ledger::read(folder_ / "ledger.jsonl").outcome(run_id), RunOutcome::kReleased);
}

TEST_F(LedgerCommands, JournalsOfEarlierVersionsAreRemovedAndTheirRunsGivenUp) {
  const std::string run_id(32, 'a');
  charge(run_id);
  const std::string journal = "ledger.jsonl." + run_id + ".journal";
  write_bytes(folder_ / journal, "dpreduce journal 2\nbinding bb\nsecret private 00\nrun " + run_id + "\n");
  ::chmod((folder_ / journal).c_str(), 0600);
  const ProgramRun next = run(fit_);
  EXPECT_EQ(next.exit_code, 0) << next.err;
  EXPECT_THAT(next.err, HasSubstr("run " + run_id + " of an earlier version is given up"));
  EXPECT_FALSE(has(journal));
  EXPECT_EQ(Ledger::read(folder_ / "ledger.jsonl").outcome(run_id), RunOutcome::kReleased);
}

// A selection on file, as a library's user may charge it: from then on epsilon is compared, not mu.
TEST_F(LedgerCommands, SelectionsOnFileCountAgainstTheBudgetOfTheDataSet) {
  RunTerms terms = terms_of("public");
  terms.accountant = Accountant::kPld;
  const SelectionTerms choice{.epsilon = 0.5, .candidates = 100, .groups = 3};
  Ledger ledger(folder_ / "ledger.jsonl");
  ledger.reserve({.run_id = "by-hand", .terms = terms, .releases = {}, .selections = {{"choice", choice}}});
  LedgerEntry entry;
  entry.release_id = "by-hand/choice";
  entry.terms = terms;
  entry.selection = choice;
  ledger.append(entry);
  ledger.end("by-hand", RunOutcome::kFinished);
  const std::string fit =
      "fit --method mean --train-x x.npy --train-y y.npy --classes 3 --budget-epsilon 1 --budget-delta 1e-5 --mu ";
  // Alone it would pass: the limit is mu = 0.268.
  expect_refused(fit + "0.25", 4, "the data set's budget of epsilon 1 at delta 1e-05");
  EXPECT_EQ(run(fit + "0.1").exit_code, 0);

  const std::string shown = succeed("ledger show").out;
  EXPECT_THAT(shown, testing::ContainsRegex(
                         "selection by exponential: 1 of 100 candidates in each of 3 groups .* epsilon 0\\.5\n"));
  EXPECT_THAT(shown, HasSubstr("\ndelta      1e-05\nrho        0.0363\n"));
  const json json = figures("ledger show");
  EXPECT_TRUE(json["releases"][0]["mu"].is_null());
  EXPECT_EQ(json["releases"][0]["selection"]["mechanism"], "exponential");
  EXPECT_NEAR(json["mu"], 0.1, 1e-9);
  EXPECT_NEAR(json["rho"], 0.03625, 1e-9);
}

}  // namespace dpreduce::ledger_test
