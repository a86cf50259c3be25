// What a fit tells, and what it must never tell.
#include <regex>

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
  ProgramRun fit(const std::string& options, int ranks = 0) const { return expect_code(kFit + options, 0, ranks); }
  json report() const { return document("report.json"); }
  json report_of(const std::string& options, int ranks = 0) const { return reported(kFit + options, ranks); }
  Strings charges() const { return charges_in(bytes("ledger.jsonl")); }
};

// Which members it has: tests/schemas/golden_test.py.
TEST_F(ReportTest, TellsTheBudgetTheRanksAndTheTestRows) {
  const json report = report_of("--epsilon 1.5 --delta 1e-6 --test-x tx.npy --test-y ty.npy", 3);
  expect_members(report, {{"private", true}, {"ranks", 3}, {"privacy", {{"epsilon", 1.5}, {"delta", 1e-6}}}});
  EXPECT_EQ(report["test"]["per_class"].size(), 3u);
  EXPECT_THAT(report["test"]["note"].get<std::string>(), HasSubstr("outside the privacy guarantee"));
}

TEST_F(ReportTest, AMethodThatWasChosenHasBothNames) {
  EXPECT_THAT(fit("--method auto --mu 1 --overwrite").out, HasSubstr("method     auto (by fc)\n"));
  EXPECT_THAT(fit("--method auto --mu 1 --dry-run").out, HasSubstr("method     auto (by fc)\n"));
  EXPECT_THAT(run("ledger show").out, HasSubstr(", auto (by fc): "));
  expect_members(report(), {{"method", "fc"}, {"adaptive", {{"method", "auto"}}}});
  EXPECT_THAT(fit("--method fc --mu 1 --overwrite").out, Not(HasSubstr("method ")));
}

// One person's rows can take most of the time that a run takes.
TEST_F(ReportTest, SecondsAreInNoFileButTheOwnersOwn) {
  const ProgramRun done = fit("--mu 1 --metrics metrics.jsonl --html page.html --timings seconds.json", 3);
  EXPECT_THAT(done.out, HasSubstr("\nseconds    open "));
  for (const char* file : {"report.json", "metrics.jsonl", "page.html"}) {
    for (const char* word : {"timings", "seconds", "Seconds"}) EXPECT_THAT(bytes(file), Not(HasSubstr(word))) << file;
  }
  const json seconds = document("seconds.json");
  EXPECT_EQ(seconds["for_release"], false);
  EXPECT_THAT(seconds["note"].get<std::string>(), HasSubstr("never for release"));
  ASSERT_EQ(seconds["ranks"].size(), 3u);
  for (const json& of_rank : seconds["ranks"]) {
    EXPECT_EQ(of_rank.size(), seconds["phases"].size());
    for (const auto& [phase, value] : of_rank.items()) EXPECT_GE(value.get<double>(), 0.0) << phase;
  }
  EXPECT_EQ(fs::status(folder_ / "seconds.json").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fit("--mu 1 --timings seconds.json");
  EXPECT_FALSE(document("seconds.json").contains("ranks")) << "of one rank";
}

TEST_F(ReportTest, NumbersAgreeWithEachOther) {
  const auto expect_agreement = [&](const std::string& metric, const std::string& center,
                                    const std::string& adjacency) {
    const std::string options = fmt::format("--metric {} --center {} --adjacency {}", metric, center, adjacency);
    SCOPED_TRACE(options);
    const json privacy = report_of("--mu 0.75 " + options)["privacy"];
    const double mu = privacy["mu"];
    EXPECT_LE(mu, 0.75);
    EXPECT_GT(mu, 0.75 * (1.0 - 1e-9));
    EXPECT_NEAR(privacy["rho"].get<double>(), mu * mu / 2.0, 1e-12);
    EXPECT_EQ(privacy["adjacency"], adjacency);
    EXPECT_EQ(privacy["releases"].size(),
              (metric == "cosine" ? 1u : 2u) + (center == "dp" ? 3u : 0u));  // two, and one of its second step
    double squares = 0.0;
    for (const json& release : privacy["releases"]) {
      const double own = release["mu"];
      EXPECT_NEAR(own, release["sensitivity"].get<double>() / release["sigma"].get<double>(), 1e-12 * own);
      squares += own * own;
    }
    if (adjacency == "add-remove") {
      EXPECT_LE(squares, std::min(mu * mu * (1.0 + 1e-12), 0.75 * 0.75));
    }
  };
  for (const std::string metric : {"cosine", "euclidean"}) {
    for (const std::string center : {"none", "dp"}) {
      for (const std::string adjacency : {"add-remove", "replace-one"}) expect_agreement(metric, center, adjacency);
    }
  }
}

TEST_F(ReportTest, SeededAndNoiselessRunsAreNotPrivate) {
  const json seeded = report_of("--mu 1 --seed 3");
  EXPECT_EQ(seeded["private"], false);
  EXPECT_THAT(seeded["note"].get<std::string>(), HasSubstr("NOT private"));
  EXPECT_THAT(model(), HasSubstr(R"(\"private\":false)"));
  EXPECT_THAT(charges().back(), HasSubstr("\"private\":false"));
  EXPECT_THAT(fit("--non-private").out, HasSubstr("NOT private"));
  EXPECT_EQ(report()["private"], false);
  EXPECT_EQ(report()["privacy"]["epsilon"], nullptr);
  EXPECT_EQ(report()["privacy"]["releases"].size(), 0u);
  EXPECT_EQ(charges().size(), 1u);  // nothing to record
  EXPECT_EQ(report_of("--mu 1")["private"], true);
  EXPECT_THAT(model(), HasSubstr(R"(\"private\":true)"));
  EXPECT_THAT(charges().back(), HasSubstr("\"private\":true"));
}

// Whether the number stands in the text by itself: not in a longer number, a fraction or a digest.
bool shows_number(const std::string& text, std::size_t number) {
  return std::regex_search(text, std::regex(fmt::format("(^|[^A-Za-z0-9.]){}($|[^A-Za-z0-9])", number)));
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
        for (const auto& [name, content] : {std::pair{"model.safetensors", model()},
                                            {"report.json", without_noised_norms(report())},
                                            {"ledger.jsonl", bytes("ledger.jsonl")}}) {
          EXPECT_FALSE(shows_number(content, count) || holds(content, count)) << count << " in " << name;
        }
      }
    }
  }
}

TEST_F(ReportTest, ADryRunTellsThePlanOfTheRunAndMakesNothing) {
  const std::string options = "--epsilon 1 --delta 1e-6 --metric euclidean --center dp --format json ";
  const auto before = folder_.names();
  json plan = fit(options + "--dry-run").json();
  json of_three_ranks = fit(options + "--dry-run", 3).json();
  EXPECT_EQ(folder_.names(), before);
  EXPECT_EQ(plan["dry_run"], true);
  for (json* changed : {&plan, &of_three_ranks}) EXPECT_EQ(changed->erase("cost"), 1u);  // what differs on purpose
  EXPECT_EQ(of_three_ranks, plan);
  const ProgramRun real = fit(options);
  json privacy = report()["privacy"];
  for (json& release : privacy["releases"]) {  // what only a release can tell
    for (const char* figure : {"norm", "noise_norm"}) EXPECT_EQ(release.erase(figure), 1u) << release;
  }
  EXPECT_EQ(plan["privacy"], privacy);
  for (const char* key : {"private", "method"}) EXPECT_EQ(plan[key], report()[key]);
  EXPECT_EQ(real.json(), report());  // standard output is one JSON document, the report
  EXPECT_THAT(fit("--mu 1 --dry-run").out, HasSubstr("nothing was spent"));
}

TEST_F(ReportTest, TheLedgerIsChargedBeforeTheModelExists) {
  for (const int ranks : {0, 3}) {
    SCOPED_TRACE(ranks);
    fs::remove(folder_ / "ledger.jsonl");
    expect_refusal(run(kFit + "--mu 1 --center dp --out /dev/full", ranks), 3, {"/dev/full: cannot be written"});
    EXPECT_EQ(charges().size(), 3u);
    EXPECT_FALSE(has("report.json"));
  }
}

TEST_F(ReportTest, TheReportSaysWhereTheLedgerStoodAndWhoseItIs) {
  const json ledger = report_of("--mu 1")["ledger"];
  const std::vector<json> lines = documents("ledger.jsonl");
  EXPECT_EQ(ledger["public_key"], lines.front()["public_key"]);
  EXPECT_EQ(lines[1]["run"], ledger["run"]);
  ASSERT_EQ(ledger["lines"], lines.size() - 1) << "all but the end of the run";
  EXPECT_EQ(lines.back()["previous"], ledger["last_line_sha256"]);
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
  const json report = report_of(options);
  EXPECT_EQ(report["batch"], 0.25);
  const json privacy = report["privacy"];
  EXPECT_TRUE(privacy["mu"].is_null() && privacy["rho"].is_null());
  EXPECT_EQ(privacy["epsilon"], 2.0);
  EXPECT_FALSE(privacy["releases"][0].contains("sampling_rate"));  // the center is of all rows
  EXPECT_EQ(privacy["releases"].back()["sampling_rate"], 0.25);
  ASSERT_EQ(charges().size(), 5U);
  EXPECT_EQ(json::parse(charges().back())["sampling_rate"], 0.25);
  expect_code(kFit + options, 4);  // the data set's budget is spent
  expect_parts(succeed("privacy explain report.json").out, {"a row counts with probability 0.25", "no useful bound"});
  const json epsilon = figures("ledger show")["epsilon"];
  EXPECT_GT(epsilon, 0.5);
  EXPECT_LT(epsilon, 2.0);  // at a larger delta than the budget's
}

}  // namespace dpreduce::report_test
