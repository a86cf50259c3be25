// What a fit tells, and what it must never tell.
#include <cctype>

#include "tests/cli/program_test.hpp"

namespace dpreduce::report_test {

// Numbers that appear nowhere else: the rows, and those of each class.
const std::vector<std::size_t> kClassRows = {5003, 3119, 1885};
constexpr std::size_t kRows = 10007;
const std::string kFit = "fit --method mean --train-x x.npy --train-y y.npy --classes 3 --report report.json ";

class ReportTest : public ProgramTest {
 protected:
  ReportTest() {
    write_rows(make_rows(kClassRows, 16));
    write_rows(make_rows({100, 100, 100}, 16), "tx.npy", "ty.npy");
  }

  // Ends well.
  ProgramRun fit(const std::string& options, int ranks = 0) const {
    const ProgramRun done = run(kFit + options, ranks);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done;
  }
  json report() const { return document("report.json"); }
  std::vector<std::string> charges() const { return charges_in(bytes("ledger.jsonl")); }
};

// Which members it has: tests/schemas/golden_test.py.
TEST_F(ReportTest, TellsTheBudgetTheRanksAndTheTestRows) {
  fit("--epsilon 1.5 --delta 1e-6 --test-x tx.npy --test-y ty.npy", 3);
  const json report = this->report();
  expect_members(report, {{"private", true}, {"ranks", 3}, {"privacy", {{"epsilon", 1.5}, {"delta", 1e-6}}}});
  EXPECT_EQ(report["test"]["per_class"].size(), 3u);
  EXPECT_THAT(report["test"]["note"].get<std::string>(), HasSubstr("outside the privacy guarantee"));
}

TEST_F(ReportTest, AMethodThatWasChosenHasBothNames) {
  EXPECT_THAT(fit("--method auto --mu 1 --overwrite").out, HasSubstr("method     auto (by fc)\n"));
  EXPECT_THAT(fit("--method auto --mu 1 --dry-run").out, HasSubstr("method     auto (by fc)\n"));
  EXPECT_THAT(run("ledger show").out, HasSubstr(", auto (by fc): "));
  EXPECT_EQ(report()["method"], "fc");
  EXPECT_EQ(report()["adaptive"]["method"], "auto");
  EXPECT_THAT(fit("--method fc --mu 1 --overwrite").out, testing::Not(HasSubstr("method ")));
}

// One person's rows can take most of the time that a run takes.
TEST_F(ReportTest, SecondsAreInNoFileButTheOwnersOwn) {
  const ProgramRun done = fit("--mu 1 --metrics metrics.jsonl --html page.html --timings seconds.json", 3);
  EXPECT_THAT(done.out, HasSubstr("\nseconds    open "));
  for (const char* file : {"report.json", "metrics.jsonl", "page.html"}) {
    for (const char* word : {"timings", "seconds", "Seconds"}) {
      EXPECT_EQ(bytes(file).find(word), std::string::npos) << file << ": " << word;
    }
  }
  const json seconds = document("seconds.json");
  EXPECT_EQ(seconds["for_release"], false);
  EXPECT_THAT(seconds["note"].get<std::string>(), HasSubstr("never for release"));
  ASSERT_EQ(seconds["ranks"].size(), 3u);
  for (const json& of_rank : seconds["ranks"]) {
    EXPECT_EQ(of_rank.size(), seconds["phases"].size());
    for (const auto& [phase, value] : of_rank.items()) EXPECT_GE(value.get<double>(), 0.0) << phase;
  }
  EXPECT_EQ(std::filesystem::status(folder_ / "seconds.json").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  fit("--mu 1 --timings seconds.json");
  EXPECT_FALSE(document("seconds.json").contains("ranks")) << "of one rank";
}

TEST_F(ReportTest, NumbersAgreeWithEachOther) {
  for (const std::string metric : {"cosine", "euclidean"}) {
    for (const std::string center : {"none", "dp"}) {
      for (const std::string adjacency : {"add-remove", "replace-one"}) {
        SCOPED_TRACE(metric + " " + center + " " + adjacency);
        fit("--mu 0.75 --metric " + metric + " --center " + center + " --adjacency " + adjacency);
        const json privacy = report()["privacy"];
        const double mu = privacy["mu"];
        EXPECT_LE(mu, 0.75);
        EXPECT_GT(mu, 0.75 * (1.0 - 1e-9));
        EXPECT_NEAR(privacy["rho"].get<double>(), mu * mu / 2.0, 1e-12);
        EXPECT_EQ(privacy["adjacency"], adjacency);
        const std::size_t blocks =
            (metric == "cosine" ? 1u : 2u) + (center == "dp" ? 3u : 0u);  // two, and one of its second step
        EXPECT_EQ(privacy["releases"].size(), blocks);
        double squares = 0.0;
        for (const json& release : privacy["releases"]) {
          const double own = release["mu"];
          const double ratio = release["sensitivity"].get<double>() / release["sigma"].get<double>();
          EXPECT_NEAR(own, ratio, 1e-12 * own);
          squares += own * own;
        }
        if (adjacency == "add-remove") {
          EXPECT_LE(squares, mu * mu * (1.0 + 1e-12));
          EXPECT_LE(squares, 0.75 * 0.75);
        }
      }
    }
  }
}

TEST_F(ReportTest, SeededAndNoiselessRunsAreNotPrivate) {
  fit("--mu 1 --seed 3");
  EXPECT_EQ(report()["private"], false);
  EXPECT_THAT(report()["note"].get<std::string>(), HasSubstr("NOT private"));
  EXPECT_THAT(bytes("model.safetensors"), HasSubstr(R"(\"private\":false)"));
  EXPECT_THAT(charges().back(), HasSubstr("\"private\":false"));

  const ProgramRun exact = fit("--non-private");
  EXPECT_EQ(report()["private"], false);
  EXPECT_EQ(report()["privacy"]["epsilon"], nullptr);
  EXPECT_EQ(report()["privacy"]["releases"].size(), 0u);
  EXPECT_THAT(exact.out, HasSubstr("NOT private"));
  EXPECT_EQ(charges().size(), 1u);  // nothing to record

  fit("--mu 1");
  EXPECT_EQ(report()["private"], true);
  EXPECT_THAT(bytes("model.safetensors"), HasSubstr(R"(\"private\":true)"));
  EXPECT_THAT(charges().back(), HasSubstr("\"private\":true"));
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// Whether the number stands in the text by itself: not in a longer number, a fraction or a digest.
bool shows_number(const std::string& text, std::size_t number) {
  const std::string digits = std::to_string(number);
  for (std::size_t at = 0; (at = text.find(digits, at)) != std::string::npos; ++at) {
    const char before = at == 0 ? ' ' : text[at - 1];
    const char after = at + digits.size() == text.size() ? ' ' : text[at + digits.size()];
    if (!is_word(before) && before != '.' && !is_word(after)) return true;
  }
  return false;
}

// Whether the number stands in the bytes, as an element of any type of 8 bytes.
bool holds(const std::string& bytes, std::size_t number) {
  return bytes.find(element_bytes(std::vector<std::uint64_t>{number})) != std::string::npos ||
         bytes.find(element_bytes(std::vector<double>{static_cast<double>(number)})) != std::string::npos;
}

// The report but for the norms of what was noised: they were paid for. That of the noised number of rows may be the
// number.
std::string without_noised_norms(json report) {
  for (json& release : report["privacy"]["releases"]) release.erase("norm");
  return report.dump();
}

TEST_F(ReportTest, NoExactCountIsToldAnywhere) {
  std::vector<std::size_t> counts = kClassRows;
  counts.push_back(kRows);
  ASSERT_TRUE(shows_number("rows 10007\n", kRows) && shows_number("{\"n\":5003,", kClassRows[0]));
  ASSERT_FALSE(shows_number("0.10007 a10007 100071", kRows));
  for (const std::string options :
       {"--epsilon 1 --delta 1e-5 --metric euclidean --center dp --test-x tx.npy --test-y ty.npy",
        "--mu 1 --seed 1 --metric euclidean --format json", "--non-private --test-x tx.npy --test-y ty.npy",
        "--mu 1 --dry-run --format json", "--mu 1 --dry-run"}) {
    for (const int ranks : {0, 3}) {
      SCOPED_TRACE(options);
      const ProgramRun run = fit(options, ranks);
      for (const std::size_t count : counts) {
        EXPECT_FALSE(shows_number(run.out, count)) << count << " on standard output:\n" << run.out;
        EXPECT_FALSE(shows_number(run.err, count)) << count << " on standard error:\n" << run.err;
        for (const auto& [name, content] : {std::pair{"model.safetensors", bytes("model.safetensors")},
                                            {"report.json", without_noised_norms(report())},
                                            {"ledger.jsonl", bytes("ledger.jsonl")}}) {
          EXPECT_FALSE(shows_number(content, count)) << count << " in " << name;
          EXPECT_FALSE(holds(content, count)) << count << " in " << name;
        }
      }
    }
  }
}

TEST_F(ReportTest, ADryRunTellsThePlanOfTheRunAndMakesNothing) {
  const std::string options = "--epsilon 1 --delta 1e-6 --metric euclidean --center dp --format json ";
  const auto before = folder_.names();
  const ProgramRun dry = fit(options + "--dry-run");
  EXPECT_EQ(folder_.names(), before);
  json plan = dry.json();
  EXPECT_EQ(plan["dry_run"], true);
  json of_three_ranks = fit(options + "--dry-run", 3).json();
  for (json* changed : {&plan, &of_three_ranks}) EXPECT_EQ(changed->erase("cost"), 1u);  // what differs on purpose
  EXPECT_EQ(of_three_ranks, plan);
  EXPECT_EQ(folder_.names(), before);

  const ProgramRun real = fit(options);
  json privacy = report()["privacy"];
  for (json& release : privacy["releases"]) {  // what only a release can tell
    for (const char* figure : {"norm", "noise_norm"}) EXPECT_EQ(release.erase(figure), 1u) << release;
  }
  EXPECT_EQ(plan["privacy"], privacy);
  EXPECT_EQ(plan["private"], report()["private"]);
  EXPECT_EQ(plan["method"], report()["method"]);
  EXPECT_EQ(real.json(), report());  // standard output is one JSON document, the report
  EXPECT_THAT(fit("--mu 1 --dry-run").out, HasSubstr("nothing was spent"));
}

TEST_F(ReportTest, TheLedgerIsChargedBeforeTheModelExists) {
  for (const int ranks : {0, 3}) {
    SCOPED_TRACE(ranks);
    std::filesystem::remove(folder_ / "ledger.jsonl");
    expect_refusal(run(kFit + "--mu 1 --center dp --out /dev/full", ranks), 3, {"/dev/full: cannot be written"});
    EXPECT_EQ(charges().size(), 3u);
    EXPECT_FALSE(has("report.json"));
  }
}

TEST_F(ReportTest, TheLedgerGrowsByTheReleasesOfEachRun) {
  fit("--mu 1");
  const std::vector<std::string> first = charges();
  ASSERT_EQ(first.size(), 1u);
  fit("--epsilon 1 --delta 1e-6 --center dp", 3);
  const std::vector<std::string> second = charges();
  ASSERT_EQ(second.size(), 4u);
  EXPECT_EQ(second.front(), first.front());
  double squares = 0.0;
  for (std::size_t line = 1; line < second.size(); ++line) {
    const json entry = json::parse(second[line]);
    EXPECT_EQ(entry["epsilon"], 1.0);
    EXPECT_EQ(entry["delta"], 1e-6);
    squares += std::pow(entry["mu"].get<double>(), 2);
  }
  EXPECT_NEAR(std::sqrt(squares), report()["privacy"]["mu"].get<double>(), 1e-12);
}

TEST_F(ReportTest, RunsAreRefusedOnceTheBudgetOfTheDataIsSpent) {
  const std::string options = "--epsilon 1 --delta 1e-6 --budget-epsilon 1.5 --budget-delta 1e-6 ";
  for (const int ranks : {0, 3}) {
    SCOPED_TRACE(ranks);
    std::filesystem::remove(folder_ / "ledger.jsonl");
    fit(options);
    fit(options, ranks);  // sqrt(2) times the mu of one is still within
    expect_refused(kFit + options, 4, "budget", ranks);
    fit("--epsilon 0.1 --delta 1e-6 --budget-epsilon 1.5 --budget-delta 1e-6");  // has room
  }
}

TEST_F(ReportTest, TheReportSaysWhereTheLedgerStoodAndWhoseItIs) {
  fit("--mu 1");
  const std::vector<std::string> lines = lines_of(bytes("ledger.jsonl"));
  const json ledger = report()["ledger"];
  EXPECT_EQ(ledger["public_key"], json::parse(lines.front())["public_key"]);
  EXPECT_EQ(json::parse(lines[1])["run"], ledger["run"]);
  ASSERT_EQ(ledger["lines"], lines.size() - 1) << "all but the end of the run";
  EXPECT_EQ(json::parse(lines.back())["previous"], ledger["last_line_sha256"]);
}

TEST_F(ReportTest, OnlyTheCoordinatorSpeaks) {
  const ProgramRun run =
      run_with({.ranks = 3, .launcher_options = {"--tag-output"}}, kFit + "--mu 1 --test-x tx.npy --test-y ty.npy");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ASSERT_FALSE(run.out.empty());
  for (const std::string& line : lines_of(run.out)) EXPECT_THAT(line, HasSubstr(",0]<stdout>:"));
  EXPECT_EQ(run.err, "");
}

TEST_F(ReportTest, RoundsOnSamplesTellTheirRateAndNoMu) {
  const std::string options =
      "--method gd --rounds 3 --batch 0.25 --center dp --epsilon 2 --delta 1e-6 --budget-epsilon 2 --budget-delta 1e-6";
  fit(options);
  const json report = this->report();
  EXPECT_EQ(report["batch"], 0.25);
  const json privacy = report["privacy"];
  EXPECT_TRUE(privacy["mu"].is_null());
  EXPECT_TRUE(privacy["rho"].is_null());
  EXPECT_EQ(privacy["epsilon"], 2.0);
  EXPECT_FALSE(privacy["releases"][0].contains("sampling_rate"));  // the center is of all rows
  EXPECT_EQ(privacy["releases"].back()["sampling_rate"], 0.25);
  ASSERT_EQ(charges().size(), 5U);
  EXPECT_EQ(json::parse(charges().back())["sampling_rate"], 0.25);
  EXPECT_EQ(run(kFit + options).exit_code, 4) << "the data set's budget is spent";

  expect_parts(succeed("privacy explain report.json").out, {"a row counts with probability 0.25", "no useful bound"});
  const json epsilon = figures("ledger show")["epsilon"];
  EXPECT_GT(epsilon, 0.5);
  EXPECT_LT(epsilon, 2.0);  // at a larger delta than the budget's
}

}  // namespace dpreduce::report_test
