// `fit --evaluate-share`: figures of test rows out of the budget of the fit, in the place of exact ones.
#include "tests/cli/program_test.hpp"

namespace dpreduce::evaluate_share_test {

class EvaluateShareTest : public ProgramTest {
 protected:
  EvaluateShareTest() {
    write_rows(make_rows({200, 220, 180}, 8));
    write_rows(make_rows({90, 70, 80}, 8), "tx.npy", "ty.npy");
  }

  // `test` begins the names of the files of test rows.
  static std::string fit(const std::string& options, const std::string& test = "t",
                         const std::string& method = "mean") {
    return fmt::format(
        "fit --train-x x.npy --train-y y.npy --classes 3 --test-x {0}x.npy --test-y {0}y.npy "
        "--evaluate-share 0.25 --quiet --method {1} {2}",
        test, method, options);
  }
  // The sum over the blocks of a release; over all blocks if none is named.
  static double squared_mu(const json& report, const std::string& release = "") {
    double sum = 0.0;
    for (const json& block : report["privacy"]["releases"]) {
      if (release.empty() || block["release"] == release) sum += std::pow(block["mu"].get<double>(), 2);
    }
    return sum;
  }
};

TEST_F(EvaluateShareTest, OneBudgetCoversTrainingAndFiguresOfTestRows) {
  succeed(fit("--mu 2 --report r.json --html r.html"));
  const json report = document("r.json");
  EXPECT_EQ(report["test"]["figures"], "private");
  for (const char* exact : {"rows", "per_class", "per_class_support", "confusion_matrix"}) {
    EXPECT_FALSE(report["test"].contains(exact)) << exact;
  }
  EXPECT_NEAR(squared_mu(report), 4.0, 1e-9);
  EXPECT_NEAR(squared_mu(report, "evaluation"), 1.0, 1e-9);
  const json exact = figures("evaluate --model model.safetensors --test-x tx.npy --test-y ty.npy");
  const json& told = report["test"]["metrics"]["accuracy"];
  EXPECT_NEAR(told["value"], exact["accuracy"], 6 * told["noise"].get<double>());
  EXPECT_EQ(report["test"]["metrics"]["recall"].size(), 3U);

  succeed("ledger verify --report r.json");
  EXPECT_EQ(figures("ledger show")["runs"].size(), 1U);
  EXPECT_THAT(succeed("privacy explain r.json").out,
              AllOf(HasSubstr("it also covers the test rows"), Not(HasSubstr("which are exact"))));
  succeed("report r.json --public --out public.html");
  EXPECT_THAT(bytes("public.html"), HasSubstr("How good the model is"));
  succeed("export model.safetensors --card card.md --report r.json");
  EXPECT_THAT(bytes("card.md"),
              AllOf(HasSubstr("reveals little about any one test row"), Not(HasSubstr("Outside of the guarantee"))));
}

// A choice by training rows takes its share of the whole, too.
TEST_F(EvaluateShareTest, TheShareIsOfAllOfTheBudget) {
  succeed(fit("--choose --choose-share 0.5 --mu 2 --report r.json", "t", "ls"));
  EXPECT_NEAR(squared_mu(document("r.json"), "evaluation"), 1.0, 1e-6);
  expect_refused(fit("--choose --choose-share 0.8 --mu 2 --ledger other.jsonl --overwrite", "t", "ls"), 2,
                 "leaves no budget for training");
}

TEST_F(EvaluateShareTest, GivesTheSameOnRanks) {
  for (const auto& [name, rows] : {std::pair{"p.npy", 600U}, {"tp.npy", 240U}}) {
    write_numbers(name, rows, [](std::size_t row) { return row % 150; });
  }
  for (const char* unit : {"", "--train-person p.npy --test-person tp.npy --rows-per-person 2 "}) {
    const std::string seeded = fit(unit) + "--mu 3 --seed 5 --report r.json --ledger " + (*unit == '\0' ? "r" : "p");
    succeed(seeded + "1.jsonl");
    const json alone = document("r.json")["test"];
    EXPECT_EQ(alone["figures"], "seeded");
    const std::string of_alone = model();
    succeed(seeded + "3.jsonl", 3);
    EXPECT_EQ(model(), of_alone);
    EXPECT_EQ(document("r.json")["test"], alone);
  }
}

TEST_F(EvaluateShareTest, NothingButItsFiguresDependsOnTestRows) {
  const auto report_with = [&](const std::string& rows) {
    succeed(fit("--mu 2 --seed 5 --report r.json --ledger " + rows + "ledger.jsonl", rows));
    json report = document("r.json");
    EXPECT_EQ(report["test"].erase("metrics"), 1U);
    report.erase("ledger");                                                 // each run has a name
    for (json& block : report["privacy"]["releases"]) block.erase("norm");  // of what was released
    return report;
  };
  write_rows(make_rows({30, 0, 50}, 8), "few_x.npy", "few_y.npy");
  EXPECT_EQ(report_with("t"), report_with("few_"));
}

TEST_F(EvaluateShareTest, EveryTestRowIsLookedAtBeforeAnythingIsCharged) {
  TrainingRows rows = make_rows({90, 70, 80}, 8);
  rows.features[8 * 17 + 3] = std::numeric_limits<float>::quiet_NaN();
  write_rows(rows, "nan_x.npy", "nan_y.npy");
  rows.features[8 * 17 + 3] = 0.5F;
  rows.labels[11] = 3;
  write_rows(rows, "no_class_x.npy", "no_class_y.npy");
  for (const auto& [name, said] : {std::pair{"nan", "row 17"}, {"no_class", "row 11"}}) {
    for (const int ranks : {0, 3}) expect_refused(fit("--mu 1", fmt::format("{}_", name)), 3, said, ranks);
  }
  succeed(fit("--mu 1 --bad-rows zero", "nan_"));
}

TEST_F(EvaluateShareTest, ARunThatStoppedTellsTheSameAtNoCharge) {
  const ProgramRun stopped = run(fit("--mu 2 --report /dev/full"));
  EXPECT_EQ(stopped.exit_code, 3);
  EXPECT_THAT(stopped.err, HasSubstr("--resume"));
  const std::string paid_for = model();
  succeed(fit("--mu 2 --resume --report r.json"));
  EXPECT_EQ(model(), paid_for);
  const json shown = figures("ledger show");
  EXPECT_EQ(shown["releases"].size(), document("r.json")["privacy"]["releases"].size() - 1);  // two blocks of one
  EXPECT_TRUE(shown["open_runs"].empty());
}

TEST_F(EvaluateShareTest, RefusesWhatHasNoBudgetToShare) {
  write_rows(make_rows({30, 20, 50}, 8), "few_x.npy", "few_y.npy");
  for (const auto& [options, said] :
       {std::pair{"--non-private", "no budget to share"},
        {"--mu 1 --evaluate-share 1", "--evaluate-share 1: must lie between 0 and 1"},
        {"--mu 1 --max-labels 2", "with --max-labels"},
        {"--mu 1 --test-person ty.npy", "goes with --train-person"},
        {"--mu 1 --train-person y.npy", "--test-person"},
        {"--epsilon 1 --delta 1e-5 --method public --public-x few_x.npy", "spends the whole budget"},
        {"--epsilon 1 --delta 1e-5 --method gd --batch 0.5", "with --batch"}}) {
    expect_refused(fit(options), 2, said);
  }
  expect_refused("fit --train-x x.npy --train-y y.npy --classes 3 --mu 1 --evaluate-share 0.1", 2, "--test-x");
  expect_refused("fit --train-x x.npy --targets y.npy --test-x x.npy --test-targets y.npy --mu 1 --evaluate-share 0.1",
                 2, "with --targets");
}

}  // namespace dpreduce::evaluate_share_test
