// Numbers as targets on the command line: files, ranks, silos, predictions and figures.
#include "common/data/label_slots.hpp"
#include "common/data/sharded_array.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::targets_cli_test {

constexpr std::size_t kDim = 5;

class TargetsOfCommands : public ProgramTest {
 protected:
  void SetUp() override {
    rows_ = make_rows({150, 150}, kDim);
    for (float& entry : rows_.features) entry *= 0.2F;
    for (std::size_t at = 0; at < rows_.features.size(); at += kDim) {
      targets_.push_back(5.0 + 10.0 * double{rows_.features[at]} - 4.0 * double{rows_.features[at + 2]});
    }
    write_rows(rows_, "x.npy", "labels.npy");
    write_npy(folder_ / "y.npy", targets_);
    TrainingRows other = rows_;
    other.features.front() += 0.5F;
    write_rows(other, "tx.npy", "unused.npy");
    write_npy(folder_ / "ty.npy", targets_);
  }
  std::string model_of(const std::string& rows = "--train-x x.npy --targets y.npy", int ranks = 0) const {
    succeed("fit --out model --ledger ledger --quiet --seed 3 " + known_ + rows, ranks);
    fs::remove(folder_ / "ledger");
    return bytes("model");
  }

  TrainingRows rows_;
  std::vector<double> targets_;
  const std::string known_ = "--method ls --normalize none --target-range=-10,20 --mu 5 ";
  const std::string evaluate_ = "evaluate --model model --test-x tx.npy --test-targets ty.npy ";
};

TEST_F(TargetsOfCommands, OneTwoAndThreeRanksGiveTheSameModelAndFigures) {
  const std::string files = "--train-x x.npy --targets y.npy --test-x tx.npy --test-targets ty.npy --report r.json";
  const std::string model = model_of(files);
  const json report = document("r.json");
  EXPECT_GT(report["test"]["r2"].get<double>(), 0.5);
  EXPECT_GT(report["test"]["rmse"].get<double>(), 0.0);
  EXPECT_EQ(report["targets"], 1);
  EXPECT_FALSE(report.contains("classes"));
  for (const int ranks : {2, 3}) {
    EXPECT_EQ(model_of(files, ranks), model) << ranks;
    EXPECT_EQ(document("r.json")["test"], report["test"]) << ranks;
  }
}

TEST_F(TargetsOfCommands, ATableOfNumbersIsReadAsAnArrayIs) {
  write_bytes(folder_ / "y.csv", fmt::format("price\n{}\n", fmt::join(targets_, "\n")));
  EXPECT_EQ(model_of("--train-x x.npy --targets y.csv"), model_of());
}

TEST_F(TargetsOfCommands, PredictWritesNumbersAndEvaluateTellsWhatTheyExplain) {
  model_of();
  succeed("predict --model model --x tx.npy --out p.npy");
  succeed("predict --model model --x tx.npy --out p.csv");
  succeed("export model --card card.md");
  EXPECT_THAT(bytes("card.md"), HasSubstr("numbers = model.predict("));
  ShardedArray predicted({folder_ / "p.npy"}, ArrayRole::kTargets);
  ASSERT_EQ(predicted.rows(), targets_.size());
  EXPECT_THAT(bytes("p.csv"), StartsWith("target\n"));
  std::vector<std::int32_t> slots(kSlotsPerTarget * targets_.size());
  predicted.read_labels(0, targets_.size(), 0, slots);
  double errors = 0.0;
  for (std::size_t row = 0; row < targets_.size(); ++row) {
    errors += std::pow(target_in(std::span(slots).subspan(row * kSlotsPerTarget), 0) - targets_[row], 2.0);
  }
  const json told = figures(evaluate_);
  EXPECT_NEAR(told["rmse"].get<double>(), std::sqrt(errors / static_cast<double>(targets_.size())), 1e-9);
  EXPECT_EQ(figures(evaluate_, 3)["r2"], told["r2"]);
}

TEST_F(TargetsOfCommands, APrivateEvaluationIsNearTheExactOne) {
  model_of();
  const json exact = figures(evaluate_);
  const std::string line = evaluate_ + "--private --mu 40 --seed 1 ";
  const json told = figures(line + "--ledger private")["metrics"];
  EXPECT_NEAR(told["r2"]["value"].get<double>(), exact["r2"].get<double>(), 0.05);
  EXPECT_NEAR(told["rmse"]["value"].get<double>(), exact["rmse"].get<double>(), 0.1);
  EXPECT_LT(told["r2"]["low"], told["r2"]["value"]);
  EXPECT_EQ(figures(line + "--ledger other", 3)["metrics"], told);
  expect_refused(line + "--ledger third --metrics accuracy", 2, "give r2 and rmse");
}

TEST_F(TargetsOfCommands, SilosGiveTheModelOfAllRowsWithBothKindsOfNoise) {
  const std::vector<std::size_t> counts{90, 40, 170};
  write_silos(rows_, counts);
  auto first = targets_.begin();
  for (const std::size_t silo : {1, 2, 3}) {
    const auto end = first + static_cast<std::ptrdiff_t>(counts[silo - 1]);
    write_npy(folder_ / numbered_npy("t", silo), std::vector<double>(first, end));
    first = end;
  }
  const std::string of_silos =
      "fit --secure-aggregation --train-x x{rank}.npy --targets t{rank}.npy --ledger ledger-{rank} --quiet ";
  const std::string whole = model_of();
  run_among(3, of_silos + known_ + "--seed 3", 0);
  EXPECT_EQ(model(), whole);
  const std::string found = "--method fc --feature-range private --mu 20 --seed 3 ";
  succeed("fit --train-x x.npy --targets y.npy --out whole --ledger whole-ledger --quiet " + found);
  run_among(3, of_silos + found, 0);
  EXPECT_EQ(model(), bytes("whole"));
  run_among(3, of_silos + known_ + "--noise distributed --report r.json --test-x tx.npy --test-targets ty.npy", 0);
  EXPECT_GT(document("r.json")["test"]["r2"].get<double>(), 0.0);
}

TEST_F(TargetsOfCommands, InspectTellsTheirOwnerWhereNumbersLie) {
  const double sum = std::accumulate(targets_.begin(), targets_.end(), 0.0);
  for (const int ranks : {0, 3}) {
    const json told = succeed("inspect --x x.npy --targets y.npy --format json", ranks).json()["targets"];
    ASSERT_EQ(told.size(), 1U);
    expect_members(told[0], {{"min", std::ranges::min(targets_)}, {"max", std::ranges::max(targets_)}});
    EXPECT_NEAR(told[0]["mean"].get<double>(), sum / static_cast<double>(targets_.size()), 1e-9);
    EXPECT_GT(told[0]["deviation"].get<double>(), 0.0);
  }
}

TEST_F(TargetsOfCommands, WhereTestTargetsDoNotVaryItIsSaidWhyRSquaredIsNot) {
  write_npy(folder_ / "flat.npy", std::vector<double>(targets_.size(), 4.0));
  const std::string fit =
      "fit --method ls --train-x x.npy --targets y.npy --target-range=-10,20 --mu 1 --test-x tx.npy --test-targets ";
  EXPECT_THAT(succeed(fit + "flat.npy").out, HasSubstr("R^2 none, since a target is the same in all test rows, RMSE"));
}

TEST_F(TargetsOfCommands, NumbersOfOneReleaseAreRefittedOnTheCommandLine) {
  succeed(
      "release --statistics gram --train-x x.npy --targets y.npy --target-range=-10,20 --mu 50 --seed 3 --out sums");
  EXPECT_THAT(succeed("refit sums --lambda 0.001 --intervals i.json --intervals-x tx.npy --out refitted").out,
              HasSubstr("ridge      0.001"));
  const json intervals = document("i.json");
  ASSERT_EQ(intervals["weights"][0]["estimates"].size(), kDim + 1);
  EXPECT_NEAR(intervals["weights"][0]["estimates"][0].get<double>(), 10.0, 2.0);
  EXPECT_EQ(intervals["predictions"][0]["estimates"].size(), targets_.size());
}

TEST_F(TargetsOfCommands, TheReportHasCoefficientsWithTheIntervalsOfARefit) {
  const std::string rows =
      "--train-x x.npy --targets y.npy --target-range=-10,20 --feature-range=-1,1 --normalize none --clip 2 --mu 500 "
      "--seed 3 ";
  expect_parts(
      succeed("fit --method ls --report r.json --html r.html --ledger l " + rows + "--out m").out,
      {"Coefficients, in units of the target", "least squares in the population, rows clipped as here, if numbers"});
  const json told = document("r.json")["coefficients"];
  expect_members(told, {{"about", "population"}, {"columns", kDim}});
  ASSERT_EQ(told["largest"].size(), kDim);
  EXPECT_EQ(told["largest"][0]["column"], 0);
  EXPECT_NEAR(told["largest"][0]["coefficient"].get<double>(), 10.0, 7.0);  // shrunken
  EXPECT_NEAR(told["targets"][0]["range_low"].get<double>(), -10.0, 1e-9);
  succeed("release --statistics gram --out sums --ledger l2 " + rows);
  succeed("refit sums --lambda 0.04 --intervals i.json --out refitted");
  const json population = document("i.json")["weights"][0]["population"];
  for (const json& one : told["largest"]) {
    const auto column = one["column"].get<std::size_t>();
    EXPECT_NEAR(one["low"].get<double>(), population["low"][column].get<double>(), 1e-9);
    EXPECT_NEAR(one["high"].get<double>(), population["high"][column].get<double>(), 1e-9);
    EXPECT_NEAR(one["over_range"].get<double>(), 2.0 * one["coefficient"].get<double>(), 1e-9);
  }
  succeed("export m --card card.md --report r.json");
  EXPECT_THAT(bytes("card.md"), HasSubstr("## The coefficients\n"));
  EXPECT_THAT(bytes("r.html"), HasSubstr("<caption>Coefficients, in units of the target"));
}

TEST_F(TargetsOfCommands, WithoutNoiseOrOfRowsOfOneLengthTheReportSaysWhatIsNot) {
  const std::string fit = "fit --method ls --train-x x.npy --targets y.npy --target-range=-10,20 --quiet --report r ";
  succeed(fit + "--non-private --normalize none --out a");
  EXPECT_THAT(document("r")["coefficients"]["why"].get<std::string>(), HasSubstr("dpreduce refit --intervals"));
  EXPECT_FALSE(document("r")["coefficients"]["largest"][0].contains("low"));
  succeed(fit + "--overwrite --mu 1 --normalize l2 --ledger l --out b");
  EXPECT_THAT(document("r")["coefficients"]["why"].get<std::string>(), HasSubstr("--normalize none keeps lengths"));
  EXPECT_FALSE(document("r")["coefficients"].contains("largest"));
}

TEST_F(TargetsOfCommands, ARowWithoutANumberCountsNowhereOnRequest) {
  TrainingRows more = rows_;
  const TrainingRows twice = rows_.part(0, 2);
  more.features.insert(more.features.end(), twice.features.begin(), twice.features.end());
  more.labels.insert(more.labels.end(), twice.labels.begin(), twice.labels.end());
  write_rows(more, "more_x.npy", "unused.npy");
  std::vector<double> numbers = targets_;
  numbers.insert(numbers.end(), {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()});
  write_npy(folder_ / "more_y.npy", numbers);
  const std::string more_rows = "--train-x more_x.npy --targets more_y.npy --bad-rows zero ";
  for (const char* method : {"--method ls ", "--method fc --feature-range private "}) {
    const std::string fit = fmt::format("fit {} --mu 20 --seed 3 --quiet --overwrite ", method);
    succeed(fit + "--train-x x.npy --targets y.npy --out model");
    for (const int ranks : {0, 3}) {
      succeed(fit + more_rows + "--out with", ranks);
      EXPECT_EQ(bytes("with"), bytes("model")) << method << ranks;
    }
  }
  for (const std::string evaluate : {"evaluate --model model ", "evaluate --private --mu 9 --seed 1 --model model "}) {
    json of_more = figures(evaluate + "--test-x more_x.npy --test-targets more_y.npy --bad-rows zero");
    json of_all = figures(evaluate + "--test-x x.npy --test-targets y.npy");
    for (const char* figure : {"metrics", "r2"}) EXPECT_EQ(of_more[figure], of_all[figure]) << evaluate << figure;
  }
}

// What options of fit do not go with them: tests/fit/targets_test.cpp.
TEST_F(TargetsOfCommands, WhatDoesNotGoWithNumbersIsRefused) {
  const std::string fit = "fit --train-x x.npy --targets y.npy --mu 1 --target-range 0,1 ";
  fs::copy_file(folder_ / "tx.npy", folder_ / "wide.npy");
  expect_refused(fit + "--method ls --train-y labels.npy", 2, "--targets with --train-y");
  expect_refused(fit + "--method ls --test-x tx.npy --test-y labels.npy", 2, "give --test-targets");
  expect_refused("fit --train-x x.npy --train-y labels.npy --classes 2 --mu 1 --test-x tx.npy --test-targets ty.npy", 2,
                 "--test-targets goes with --targets: test rows have classes or numbers");
  expect_refused(fit + "--method ls --normalize none --ledger none --test-x tx.npy --test-targets wide.npy", 3,
                 "test targets: 5 a row, but the model predicts 1; give as many");
  EXPECT_FALSE(has("none"));  // before anything is charged
  model_of();
  expect_refused("predict --model model --x tx.npy --out s.npy --scores", 2, "predicts numbers");
  expect_refused("evaluate --model model --test-x tx.npy --test-y labels.npy", 2, "give them as --test-targets");
  expect_refused(evaluate_ + "--y labels.npy", 2,
                 "--test-targets with --test-y: rows have numbers or classes; give one");
}

}  // namespace dpreduce::targets_cli_test
