// What a run tells while it goes on and when it ends: progress, metrics, and what is spent, in epsilon.
#include "tests/cli/program_test.hpp"

namespace dpreduce::progress_test {

class ProgressTest : public ProgramTest {
 protected:
  ProgressTest() {
    write_rows(make_rows({300, 300, 300}, 16));
    write_rows(make_rows({30, 30, 30}, 16), "test_x.npy", "test_y.npy");
  }
  ProgramRun run(const std::string& arguments, int ranks = 0) const override {
    return run_with({.ranks = ranks, .keeps_files = true}, arguments);
  }
  ProgramRun fit(const std::string& options, int ranks = 0) const { return succeed(rows_ + options, ranks); }

  const std::string rows_ = "fit --train-x x.npy --train-y y.npy --classes 3 --epsilon 1 --delta 1e-6 ";
};

TEST_F(ProgressTest, AShortRunInABatchLogTellsNothingAndAQuietOnePrintsNothing) {
  fit("--method gd --rounds 3");  // nothing on standard error
  for (const int ranks : {0, 2}) EXPECT_EQ(fit("--method gd --rounds 3 --quiet --overwrite", ranks).out, "");
  const std::string sweep =
      "sweep --train-x x.npy --train-y y.npy --test-x test_x.npy --test-y test_y.npy --classes 3 --methods mean "
      "--epsilons 1 --seeds 1 --quiet";
  EXPECT_EQ(succeed(sweep).out, "");
  EXPECT_TRUE(has("sweep.csv"));
}

TEST_F(ProgressTest, MetricsHaveALineForEachReleaseAndOneForTheEnd) {
  for (const int ranks : {0, 3}) {
    fit("--method fc --rounds 4 --metrics m.jsonl --report r.json --overwrite", ranks);
    const std::vector<json> lines = documents("m.jsonl");
    const json report = document("r.json");
    ASSERT_EQ(lines.back()["phase"], "end");
    double epsilon = 0.0;
    std::size_t block = 0;  // of the report
    for (const json& line : lines) {
      EXPECT_GT(line["spent"]["epsilon"], epsilon * 0.999999);
      epsilon = line["spent"]["epsilon"];
      if (line["phase"] == "end") continue;
      std::uint64_t numbers = 0;
      for (const json& figures : line["blocks"]) {
        const json& reported = report["privacy"]["releases"][block++];
        numbers += reported["coordinates"].get<std::uint64_t>();
        for (const char* key : {"name", "norm", "noise_norm"}) EXPECT_EQ(figures[key], reported[key]) << key;
      }
      EXPECT_EQ(line["bytes"], 8 * numbers);
    }
    EXPECT_EQ(block, report["privacy"]["releases"].size());
    expect_members(lines[lines.size() - 2], {{"phase", "gradient"}, {"round", 4}, {"rounds", 4}});
    EXPECT_NEAR(epsilon, 1.0, 1e-9);
    EXPECT_EQ(lines.back()["spent"]["delta"], 1e-6);
  }
}

TEST_F(ProgressTest, MetricsReplaceAndReadNothingUnasked) {
  fit("--method mean --metrics m.jsonl");
  const std::string kept = bytes("m.jsonl");
  const std::string other = rows_ + "--out other --metrics ";
  expect_code(other + "m.jsonl", 3);
  expect_code(other + "x.npy --overwrite", 2);
  expect_code(other + "other", 2);
  expect_code(other + "m.jsonl --overwrite --budget-epsilon 0.5 --budget-delta 1e-6", 4);
  EXPECT_EQ(bytes("m.jsonl"), kept) << "a run that is refused";
  expect_refused("fit --train-x x.npy --train-y y.npy --classes 3 --out other --non-private --metrics new.jsonl", 2,
                 "--metrics with --non-private");
}

TEST_F(ProgressTest, SpendingIsToldInEpsilonAtTheAskedDelta) {
  EXPECT_THAT(fit("--method mean").out, HasSubstr("ledger.jsonl: epsilon 1 at delta 1e-06 is spent in total"));
  EXPECT_THAT(fit("--method mean --out b --budget-epsilon 2 --budget-delta 1e-6").out,
              HasSubstr("epsilon 1.46 at delta 1e-06 is spent in total, of the data set's budget of epsilon 2; room "
                        "for a run of epsilon 1.28\n"));
  EXPECT_THAT(expect_code(rows_ + "--out c --budget-epsilon 1.5 --budget-delta 1e-6", 4).err,
              AllOf(HasSubstr("recorded runs have spent epsilon 1.46; with this run's 1 the total would be 1.82"),
                    HasSubstr("budget of epsilon 1.5 at delta 1e-06"), Not(HasSubstr(" mu "))));
}

TEST_F(ProgressTest, ALedgerHasAParagraphForEachRunAndRoundsInOneLine) {
  fit("--method gd --rounds 12 --quiet");
  fit("--method mean --out b --quiet");
  const std::string shown = run("ledger show --delta 1e-6").out;
  const char* const rounds =
      ", gd: epsilon 1 at delta 1e-06, add-remove\n.*\n  gradient +gradient/1 to gradient/12 +12 .* 0\\.0684\n";
  EXPECT_THAT(shown, AllOf(testing::ContainsRegex(rounds), HasSubstr("\nepsilon    1.46\ndelta      1e-06\n"),
                           HasSubstr("\nreleases   13\n"), Not(HasSubstr("gradient/2"))));
  expect_code("ledger show --delta 0", 2);
}

TEST_F(ProgressTest, ADryRunTellsTheErrorOfEveryReleaseAndMemoryOnce) {
  for (const std::string method : {"gd --rounds 4", "ls --shared-gram", "ls", "fc --rounds 2", "newton --rounds 2",
                                   "coinpress", "fisher", "global-adapt --rounds 2", "mean --center dp", "auto"}) {
    SCOPED_TRACE(method);
    const std::string told = succeed(rows_ + "--dry-run --method " + method).out;
    EXPECT_THAT(told, AllOf(HasSubstr("expected   "), HasSubstr("memory")));
    EXPECT_EQ(told.find("memory"), told.rfind("memory"));
    const json plan = run(rows_ + "--dry-run --format json --method " + method).json();
    for (const json& release : plan["privacy"]["releases"]) {
      const auto is_told = [&](const json& error) {
        return error.contains("rows_per_class") ? release["release"] == "class_means"
                                                : release["name"] == error["name"];
      };
      EXPECT_TRUE(std::ranges::any_of(plan["expected_error"], is_told)) << release["release"];
    }
  }
}

// A count of right rows, which one row changes by one, has noise 1 / mu; over 800 rows that is 1 / (800 mu) of
// accuracy.
TEST_F(ProgressTest, ADryRunTellsTheNoiseThatAnAccuracyOverAsManyRowsWouldHave) {
  const json plan =
      figures("fit --train-x x.npy --train-y y.npy --classes 3 --mu 0.5 --method auto --expected-rows 800 --dry-run");
  EXPECT_NEAR(plan["expected_rows"]["accuracy_noise"].get<double>(), 1.0 / (800.0 * 0.5), 1e-6);
}

}  // namespace dpreduce::progress_test
