// Every command but fit: what it prints and writes, alone and on several ranks.
#include "common/accounting/gaussian_dp.hpp"
#include "common/base/output_file.hpp"
#include "common/data/sharded_array.hpp"
#include "common/ledger/ledger.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::commands_test {

constexpr std::size_t kClasses = 4;
constexpr std::size_t kTestRows = 600;

std::vector<std::uint64_t> counts_of(const std::vector<std::int32_t>& labels, std::size_t classes) {
  std::vector<std::uint64_t> counts(classes);
  for (const std::int32_t label : labels) ++counts[static_cast<std::size_t>(label)];
  return counts;
}

class CommandsTest : public ProgramTest {
 protected:
  std::vector<std::int32_t> labels_in(const std::string& name, std::size_t classes) const {
    ShardedArray array({folder_ / name}, ArrayRole::kLabels);
    std::vector<std::int32_t> labels(array.rows());
    array.read_labels(0, array.rows(), classes, labels);
    return labels;
  }
  std::vector<float> features_in(const std::string& name) const {
    ShardedArray array({folder_ / name}, ArrayRole::kFeatures);
    std::vector<float> features(array.rows() * array.columns());
    array.read_features(0, array.rows(), features);
    return features;
  }
};

const std::string kTrain = " --train-x train_x.npy --train-y train_y.npy --classes 4 ";
const std::string kTest = " --test-x test_x.npy --test-y test_y.npy ";
const std::string kFitMeans = "fit --method mean" + kTrain;
const std::string kPredict = "predict --model model.safetensors --x test_x.npy ";
const std::string kEvaluate = "evaluate --model model.safetensors" + kTest;
const std::string kBudget = "--epsilon 1 --delta 1e-5 ";

// With data and a model of it.
class ModelCommandsTest : public CommandsTest {
 protected:
  ModelCommandsTest() {
    succeed(
        "synth --out . --kind gaussian-mixture --rows 2000 --test-rows 600 --dim 16 --classes 4 --separation 2 "
        "--imbalance-ratio 10");
    succeed(kFitMeans + "--mu 2 --seed 1 --center dp");
  }

  // The figures of a private evaluation with a seed, which three ranks tell as well.
  json figures_of_any_ranks(const std::string& line) const {
    const json alone = figures(line + " --ledger alone.jsonl");
    EXPECT_EQ(figures(line + " --ledger on_ranks.jsonl", 3)["metrics"], alone["metrics"]);
    return alone;
  }
};

// The numbers of a table, under its line of names.
std::vector<std::vector<double>> numbers_in(const std::string& table) {
  std::vector<std::vector<double>> rows;
  for (std::string& line : lines_of(table)) {
    std::ranges::replace(line, ',', ' ');
    std::istringstream fields(line);
    rows.emplace_back(std::istream_iterator<double>(fields), std::istream_iterator<double>());
  }
  rows.erase(rows.begin());
  return rows;
}

TEST_F(ModelCommandsTest, PredictionsAreTheSameOnScreenInTablesOfAnyFormatAndOnRanks) {
  const std::string printed = succeed(kPredict).out;
  std::vector<std::int32_t> labels;
  for (const std::string& line : lines_of(printed)) labels.push_back(std::stoi(line));
  ASSERT_EQ(labels.size(), kTestRows);
  EXPECT_EQ(succeed(kPredict, 3).out, printed);
  EXPECT_EQ(succeed(kPredict + "--out alone.npy").out, "");
  EXPECT_EQ(labels_in("alone.npy", kClasses), labels);
  succeed(kPredict + "--out on_ranks.npy", 3);
  EXPECT_TRUE(bytes("on_ranks.npy") == bytes("alone.npy"));
  for (const int ranks : {0, 3}) {
    SCOPED_TRACE(fmt::format("{} ranks", ranks));
    EXPECT_EQ(succeed(kPredict + "--out labels.csv --scores scores.csv", ranks).out, "");
    EXPECT_EQ(succeed(kPredict + "--out labels.npy --scores scores.npy", ranks).out, "");
    EXPECT_TRUE(bytes("labels.npy") == bytes("alone.npy"));
    EXPECT_EQ(bytes("labels.csv"), "label\n" + printed);
    EXPECT_THAT(bytes("scores.csv"), StartsWith("class_0,class_1,class_2,class_3\n"));
    const auto scores = numbers_in(bytes("scores.csv"));
    ASSERT_EQ(scores.size(), kTestRows);
    const std::vector<float> stored = features_in("scores.npy");
    ASSERT_EQ(stored.size(), kTestRows * kClasses);
    for (std::size_t row = 0; row < kTestRows; ++row) {
      const auto of_row = std::span(stored).subspan(row * kClasses, kClasses);
      EXPECT_EQ(of_row[static_cast<std::size_t>(labels[row])], std::ranges::max(of_row)) << "row " << row;
      const std::vector<float> told(scores[row].begin(), scores[row].end());
      EXPECT_THAT(told, testing::ElementsAreArray(of_row)) << row;
    }
  }
  succeed(kPredict + "--out best.csv --top-k 2");
  EXPECT_THAT(bytes("best.csv"), StartsWith("label_1,label_2\n"));
  EXPECT_EQ(numbers_in(bytes("best.csv")).size(), kTestRows);
  succeed(kPredict + "--out sets.csv --sets --threshold 0");
  EXPECT_EQ(numbers_in(bytes("sets.csv"))[0].size(), kClasses);
  succeed(kPredict + "--out scores_of_old.npy --scores");  // without a file of their own they take that of labels
  EXPECT_TRUE(bytes("scores_of_old.npy") == bytes("scores.npy"));
  succeed(kPredict + "--scores only.npy");
  EXPECT_TRUE(bytes("only.npy") == bytes("scores.npy"));
}

TEST_F(ModelCommandsTest, ProbabilitiesAreThoseOfTheLoss) {
  for (const std::string loss : {"softmax", "sigmoid", "softmax --warm-start"}) {
    succeed("fit --method gd --rounds 8" + kTrain + "--mu 2 --seed 1 --loss " + loss);
    succeed(kPredict + "--scores s.csv --probabilities p.csv");
    const auto scores = numbers_in(bytes("s.csv"));
    const auto probabilities = numbers_in(bytes("p.csv"));
    ASSERT_EQ(probabilities.size(), kTestRows);
    for (std::size_t row = 0; row < kTestRows; ++row) {
      ASSERT_EQ(probabilities[row].size(), kClasses);
      double sum = 0.0;
      for (const double score : scores[row]) sum += std::exp(score);
      for (std::size_t c = 0; c < kClasses; ++c) {
        const double score = scores[row][c];
        const double expected = loss == "softmax"   ? std::exp(score) / sum
                                : loss == "sigmoid" ? 1.0 / (1.0 + std::exp(-score))
                                                    : score / 2.0;
        EXPECT_NEAR(probabilities[row][c], expected, 1e-5) << loss;
      }
      if (loss == "sigmoid") continue;  // of each class by itself
      EXPECT_NEAR(std::accumulate(probabilities[row].begin(), probabilities[row].end(), 0.0), 1.0, 1e-5) << loss;
    }
  }
}

TEST_F(ModelCommandsTest, WhatHasNoProbabilitiesSaysSo) {
  for (const auto& [options, said] :
       {std::pair{"--probabilities p.csv",
                  "--probabilities: model.safetensors has none: scores of method mean only rank"},
        {"--out labels.txt", "--out labels.txt: tables are written as .npy or .csv"},
        {"--scores s.parquet", "--scores s.parquet: tables are written as .npy or .csv"},
        {"--out t.csv --scores ./t.csv", "must be different files"}}) {
    expect_refused(kPredict + options, 2, said);
  }
}

// Figures of a confusion matrix: common/model/metrics_test.
TEST_F(ModelCommandsTest, EvaluateCountsThePredictionsAndTheReportOfAFitHasItsFigures) {
  succeed(kPredict + "--out labels.npy");
  const std::vector<std::int32_t> predicted = labels_in("labels.npy", kClasses);
  const std::vector<std::int32_t> truth = labels_in("test_y.npy", kClasses);
  std::vector<std::vector<std::uint64_t>> confusion(kClasses, std::vector<std::uint64_t>(kClasses));
  double right = 0.0;
  for (std::size_t row = 0; row < kTestRows; ++row) {
    ++confusion[static_cast<std::size_t>(truth[row])][static_cast<std::size_t>(predicted[row])];
    right += truth[row] == predicted[row] ? 1 : 0;
  }
  const std::string evaluate = kEvaluate + "--train-y train_y.npy --report evaluation.json";
  const json figures = this->figures(evaluate);
  EXPECT_EQ(figures["confusion_matrix"], json(confusion));
  EXPECT_DOUBLE_EQ(figures["accuracy"], right / kTestRows);
  EXPECT_EQ(figures["minority_classes"], json({3}));  // the tail of the long tail
  EXPECT_EQ(figures["minority_accuracy"], figures["per_class"][3]);
  EXPECT_EQ(document("evaluation.json"), figures);

  json on_ranks = this->figures(evaluate, 3);
  EXPECT_EQ(on_ranks["ranks"], 3);
  on_ranks["ranks"] = figures["ranks"];
  EXPECT_EQ(on_ranks, figures);
  EXPECT_FALSE(this->figures(kEvaluate).contains("minority_accuracy"));
  succeed(kFitMeans + "--mu 2 --seed 1 --center dp --report report.json" + kTest);
  const json of_fit = document("report.json")["test"];
  for (const char* key : {"accuracy", "balanced_accuracy", "per_class"}) EXPECT_EQ(of_fit[key], figures[key]);
}

// The figures that any number of ranks tells, near the exact ones, each in its interval; one charge; nothing exact.
TEST_F(ModelCommandsTest, APrivateEvaluationIsNearTheExactOneAndIsCharged) {
  const json exact = figures(kEvaluate);
  const std::string all = kEvaluate +
                          "--private --mu 3 --seed 5 --metrics accuracy,recall,precision,confusion,topk --top-k 2 "
                          "--ledger seeded.jsonl";
  const json alone = figures(all);
  json on_ranks = figures(all, 3);
  on_ranks["ranks"] = alone["ranks"];
  on_ranks["ledger"] = alone["ledger"];  // each run has a name of its own
  EXPECT_EQ(on_ranks, alone);
  EXPECT_EQ(alone["private"], false);
  const json& metrics = alone["metrics"];
  EXPECT_NEAR(metrics["accuracy"]["value"], exact["accuracy"], 0.03);
  EXPECT_LE(metrics["accuracy"]["low"], exact["accuracy"]);
  EXPECT_GE(metrics["accuracy"]["high"], exact["accuracy"]);
  EXPECT_NEAR(metrics["balanced_accuracy"]["value"], exact["balanced_accuracy"], 0.05);
  const double noise = metrics["confusion"]["noise"];
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t p = 0; p < kClasses; ++p) {
      EXPECT_NEAR(metrics["confusion"]["counts"][c][p], exact["confusion_matrix"][c][p], 6 * noise);
    }
  }
  const std::string charged = kEvaluate + "--private --public-model --ledger own.jsonl " + kBudget;
  const json again = figures(charged + "--report e.json");
  EXPECT_EQ(document("e.json"), again);
  EXPECT_EQ(again["private"], true);
  EXPECT_EQ(again["metrics"]["recall"].size(), kClasses);
  EXPECT_FALSE(again.contains("rows") || again.contains("per_class_support"));
  EXPECT_EQ(figures("ledger show --ledger own.jsonl")["releases"].size(), 1U);
  EXPECT_NE(figures(charged)["metrics"]["accuracy"]["value"], again["metrics"]["accuracy"]["value"])
      << "noise of its own";
}

TEST_F(ModelCommandsTest, TwoModelsAreComparedOnTheSameRows) {
  succeed(kFitMeans + "--mu 2 --seed 9 --out b.safetensors");
  const double first = figures(kEvaluate)["accuracy"];
  const double second = figures("evaluate --model b.safetensors" + kTest)["accuracy"];
  const std::string pair = kEvaluate + "--model b.safetensors ";
  const json metrics = figures_of_any_ranks(pair + "--metrics accuracy --private --mu 5 --seed 3")["metrics"];
  EXPECT_NEAR(metrics["accuracy"]["value"], first, 0.05);
  EXPECT_NEAR(metrics["accuracy_b"]["value"], second, 0.05);
  EXPECT_LE(metrics["difference"]["low"].get<double>(), second - first);
  EXPECT_GE(metrics["difference"]["high"].get<double>(), second - first);
  expect_refused(pair, 2, "--model twice goes with --private");
  expect_refused(pair + "--model model.safetensors --private --mu 1", 2, "name one, or two");
}

// By groups that a file of their own has, whole or by rank, as numbers or names; a group that no row is in says so.
TEST_F(ModelCommandsTest, GroupsOfRowsHaveFiguresOfTheirOwn) {
  write_bytes(folder_ / "names.txt", "oak\nelm\nash\nfir\nnowhere\n");
  const json exact = figures(kEvaluate);
  // Each class is a group, so that a group's accuracy is the class's recall.
  const json alone =
      figures_of_any_ranks(kEvaluate + "--private --mu 5 --seed 3 --group test_y.npy --group-names names.txt");
  const json& groups = alone["metrics"]["by_group"];
  ASSERT_EQ(groups.size(), 5U);
  for (std::size_t g = 0; g < 4; ++g) {
    EXPECT_LE(groups[g]["low"].get<double>(), exact["per_class"][g].get<double>());
    EXPECT_GE(groups[g]["high"].get<double>(), exact["per_class"][g].get<double>());
  }
  EXPECT_TRUE(groups[4]["value"].is_null());
  EXPECT_TRUE(alone["metrics"]["largest_gap"].contains("high"));
  EXPECT_EQ(alone["group_names"][1], "elm");
  const std::string private_groups = kEvaluate + "--private --mu 1 --ledger no.jsonl --group test_y.npy ";
  expect_refused(private_groups, 2, "--group goes with --groups");
  expect_refused(private_groups + "--group-names none.txt", 3, "--group-names none.txt");
  expect_refused(private_groups + "--groups 2", 3, "test_y.npy");
  expect_refused(kEvaluate + "--group test_y.npy --groups 4", 2, "--group goes with --private");
}

// In two releases, the second at what the first has told; for one class against the rest, on any number of ranks, and
// of persons.
TEST_F(ModelCommandsTest, TheAreaUnderTheCurveIsToldInTwoReleases) {
  succeed("fit --method fc --rounds 2 --loss softmax" + kTrain + "--mu 4 --seed 1 --out fc.safetensors");
  const std::string asked = "evaluate --model fc.safetensors" + kTest + "--private --metrics auc,roc --mu 4 ";
  const std::string seeded = asked + "--positive 2 --seed 3 ";
  const json alone = figures_of_any_ranks(seeded);
  const json& metrics = alone["metrics"];
  EXPECT_GT(metrics["auc"]["value"], 0.7);
  EXPECT_NEAR(metrics["auc"]["value"], metrics["roc"]["auc"]["value"], 0.15);
  ASSERT_EQ(alone["privacy"]["releases"].size(), 2U);
  EXPECT_EQ(alone["privacy"]["releases"][1]["release"], "positives");
  EXPECT_EQ(figures(seeded + "--ledger p.jsonl --test-person test_y.npy --rows-per-person 1")["privacy"]["unit"],
            "person");
  // Rows count by their weights alone, and stay where their groups are.
  succeed(asked + "--positive 2 --ledger g.jsonl --test-person test_y.npy --group test_y.npy --groups 4", 3);
  expect_refused(asked + "--ledger no.jsonl", 2, "--positive CLASS");
  expect_refused(asked + "--positive 4 --ledger no.jsonl", 2, "--positive 4");
}

// With one seed, so that noise is the same: what is told beside the figures is the same of any rows, however many.
TEST_F(ModelCommandsTest, APrivateEvaluationTellsNothingOfRowsButItsFigures) {
  const auto told_of = [&](const std::string& rows) {
    json report = figures(
        fmt::format("evaluate --model model.safetensors --private --mu 2 --seed 3 --metrics accuracy,recall,confusion "
                    "--ledger {0}.jsonl --test-x {0}_x.npy --test-y {0}_y.npy",
                    rows));
    EXPECT_TRUE(report["metrics"].contains("confusion"));
    report.erase("metrics");
    report.erase("ledger");  // each run has a name
    return report;
  };
  EXPECT_EQ(told_of("test"), told_of("train"));
}

// Rows of several classes have one figure: F1.
TEST_F(ModelCommandsTest, LabelSetsHavePrivateF1) {
  succeed("synth --kind gaussian-mixture --rows 900 --test-rows 600 --dim 20 --classes 4 --max-labels 2 --out sets");
  succeed(
      "fit --method gd --rounds 8 --train-x sets/train_x.npy --train-y sets/train_y.npy --classes 4 --max-labels 2 "
      "--mu 4 --seed 1 --out sets.safetensors");
  const std::string rows = "evaluate --model sets.safetensors --test-x sets/test_x.npy --test-y sets/test_y.npy ";
  const double exact = figures(rows + "--threshold 0.4")["micro_f1"];
  const std::string asked = rows + "--private --mu 4 --seed 3 --max-labels 2 --max-predicted 4 --threshold 0.4 ";
  const json alone = figures_of_any_ranks(asked);
  EXPECT_LE(alone["metrics"]["micro_f1"]["low"].get<double>(), exact);
  EXPECT_GE(alone["metrics"]["micro_f1"]["high"].get<double>(), exact);
  EXPECT_EQ(alone["metrics"]["f1"].size(), 4U);
  const std::string refused = rows + "--private --mu 1 --ledger no.jsonl ";
  expect_refused(refused, 2, "--max-labels");
  expect_refused(asked + "--score-threshold 0.5 --ledger no.jsonl", 2, "--threshold with --score-threshold");
  expect_refused(refused + "--max-labels 1 --threshold 0.4", 3, "--max-labels 1");
  expect_refused(refused + "--max-labels 2 --metrics accuracy", 2,
                 "--max-labels and --private with --metrics accuracy: f1 of one model");
}

TEST_F(ModelCommandsTest, APrivateEvaluationIsRefusedBeforeItIsCharged) {
  const std::string evaluate = kEvaluate + "--ledger untouched.jsonl ";
  for (const auto& [options, said] : {std::pair{"--epsilon 1 --delta 1e-5", "--epsilon goes with --private"},
                                      {"--level 0.9", "--level goes with --private"},
                                      {"--max-predicted 2", "--max-predicted goes with --private"},
                                      {"", "--ledger goes with --private"},
                                      {"--private", "no privacy budget"}}) {
    expect_refused(evaluate + options, 2, said);
  }
  for (const auto& [options, said] :
       {std::pair{"--train-y train_y.npy", "sizes of training classes are exact"},
        {"--metrics accuracy,f2", "'f2' is not a metric"},
        {"--metrics auc", "which this model does not have"},
        {"--positive 1", "--positive with --private goes with --metrics auc or roc"},
        {"--max-predicted 2", "--max-predicted goes with"},
        {"--expected-rows 9", "--expected-rows with --private goes with --metrics auc or roc"},
        {"--expected-rows nan --metrics roc", "--expected-rows nan"},
        {"--metrics topk --top-k 9", "--top-k 9"},
        {"--level 1.5", "--level"}}) {
    expect_refused(evaluate + "--private --mu 1 " + options, 2, said);
  }
  expect_refused(evaluate + "--private --public-model --epsilon 3 --delta 1e-5 --budget-epsilon 1 --budget-delta 1e-5",
                 4, "budget");
  expect_refused(evaluate + "--private", 2, "no privacy budget", 3);
  const AtomicFile of_another_run(folder_ / "e.json", Existing::kKeep);
  expect_refused(evaluate + kBudget + "--private --report e.json", 2, "e.json: another process is writing it");
}

// Two epsilons of 1 have no room in a budget of 1.2, whatever the user says of the rows.
TEST_F(ModelCommandsTest, ALedgerIsOneSetOfRecords) {
  const std::string limited = kBudget + "--budget-epsilon 1.2 --budget-delta 1e-5 --ledger ";
  const std::string evaluate = kEvaluate + "--private " + limited;
  succeed(kFitMeans + "--quiet " + limited + "train.jsonl");
  expect_refused(evaluate + "train.jsonl", 4, "recorded runs have spent epsilon 1;");
  expect_refused(evaluate + "train.jsonl --data-set test", 2, "--data-set is not an option");
  expect_refused(evaluate + "train.jsonl --train-x train_x.npy", 2, "--train-x is not an option");
  succeed(evaluate + "test.jsonl");
}

TEST_F(ModelCommandsTest, WhatAPrivateEvaluationReportsIsReadByEveryReaderOfReports) {
  succeed(kFitMeans + "--mu 2 --out m.safetensors --report r.json --ledger both.jsonl" + kTest);
  EXPECT_EQ(document("r.json")["test"]["figures"], "exact");
  const std::string evaluate = "evaluate --model m.safetensors" + kTest;
  succeed(evaluate + "--private --mu 1 --report e.json --html e.html --ledger both.jsonl");
  const json evaluation = document("e.json");
  EXPECT_EQ(evaluation["figures"], "private");
  succeed("ledger verify both.jsonl --report e.json");
  const json& accuracy = evaluation["metrics"]["accuracy"];
  const std::string interval =
      fmt::format("from {:.3f} to {:.3f}", accuracy["low"].get<double>(), accuracy["high"].get<double>());
  EXPECT_THAT(succeed("privacy explain e.json").out, AllOf(HasSubstr(interval), Not(HasSubstr("which are exact"))));
  EXPECT_THAT(bytes("e.html"), HasSubstr("data-intervals="));
  succeed("report r.json e.json --public --out both.html");
  succeed("export m.safetensors --card card.md --report r.json --evaluation e.json");
  const std::string exact = fmt::format("{:.3f}", document("r.json")["test"]["accuracy"].get<double>());
  EXPECT_THAT(bytes("card.md"),
              AllOf(HasSubstr("reveals little about any one test row"), HasSubstr("| accuracy |"),
                    HasSubstr("## Guarantee of the test rows\n"), Not(HasSubstr("utside of the guarantee")),
                    Not(HasSubstr(fmt::format("| accuracy | {} |\n", exact)))));
  expect_refused("export model.safetensors --card c.md --evaluation e.json", 3, "e.json: is of another model");
  expect_refused("export m.safetensors --card c.md --evaluation r.json", 3, "give a report of evaluate --private");
  expect_refused(evaluate + "--html x.html", 2, "--html");
}

// Its report cannot be written: what was paid for is told all the same, by the next start, the same each time.
TEST_F(ModelCommandsTest, APrivateEvaluationThatStoppedTellsTheSameAtNoCharge) {
  const std::string evaluate = kEvaluate + kBudget + "--private --public-model --ledger stopped.jsonl ";
  const ProgramRun stopped = run(evaluate + "--report /dev/full");
  EXPECT_EQ(stopped.exit_code, 3);
  EXPECT_THAT(stopped.err, HasSubstr("--resume"));
  run_in_shell("mkdir kept && cp -p stopped.jsonl* kept");
  const json told = figures(evaluate + "--resume");
  run_in_shell("rm stopped.jsonl* && cp -p kept/* .");
  succeed(evaluate + "--resume --report e.json", 3);
  EXPECT_EQ(document("e.json")["metrics"], told["metrics"]);
  const json shown = figures("ledger show --ledger stopped.jsonl");
  EXPECT_EQ(shown["releases"].size(), 1U);
  EXPECT_TRUE(shown["open_runs"].empty());
}

TEST_F(CommandsTest, InspectTellsTheOwnerExactFigures) {
  succeed("synth --out . --rows 3001 --test-rows 0 --dim 32 --classes 5 --imbalance-ratio 5");
  const std::string inspect = "inspect --x train_x.npy --y train_y.npy --classes 5 --clip 0.5";
  const json figures = this->figures(inspect);
  EXPECT_THAT(figures["notice"].get<std::string>(), StartsWith("PRIVATE"));
  expect_members(figures, {{"rows", 3001}, {"features", 32}, {"rows_not_finite", 0}});
  EXPECT_EQ(figures["class_rows"], json(counts_of(labels_in("train_y.npy", 5), 5)));
  EXPECT_EQ(figures["share_longer_than_clip"], 1.0);  // a collapsed frame has unit norms
  EXPECT_NEAR(figures["norms"]["max"], 1.0, 1e-5);
  for (const char* figure : {"min", "median", "max"}) {
    EXPECT_NEAR(figures["class_mean_cosines"][figure], -0.25, 1e-5);
  }
  EXPECT_LT(figures["feature_shift_beta"]["max"].get<double>(), 1e-5);
  const json on_ranks = this->figures(inspect, 3);
  for (const char* key : {"rows", "class_rows", "norms", "rows_zero", "share_longer_than_clip"}) {
    EXPECT_EQ(on_ranks[key], figures[key]) << key;
  }
  EXPECT_NEAR(on_ranks["class_mean_cosines"]["max"], -0.25, 1e-5);
  const std::string text = succeed("inspect --x train_x.npy").out;
  EXPECT_THAT(text, StartsWith("PRIVATE"));
  EXPECT_THAT(text, testing::ContainsRegex("\nnorms +max [0-9.]{1,5}, median [0-9.]{1,5}, "));

  TrainingRows rows = make_rows({5, 5}, 4);  // of which a fit would refuse one
  rows.features[4] = std::numeric_limits<float>::quiet_NaN();
  std::fill_n(rows.features.begin() + 8, 4, 0.0F);
  write_rows(rows);
  expect_members(this->figures("inspect --x x.npy --y y.npy --classes 2"),
                 {{"rows", 10}, {"rows_not_finite", 1}, {"rows_zero", 1}});
}

TEST_F(CommandsTest, SynthWritesWhatItSays) {
  const std::string synth = "synth --rows 1000 --test-rows 100 --dim 24 --classes 4 --shards 3 --imbalance-ratio 8 ";
  const ProgramRun run = succeed(synth + "--out made --seed 5");
  const std::vector<std::string> names = {"train_x_0.npy", "train_x_1.npy", "train_x_2.npy", "train_y_0.npy",
                                          "train_y_1.npy", "train_y_2.npy", "test_x.npy",    "test_y.npy"};
  EXPECT_EQ(lines_of(run.out).size(), names.size());
  for (const std::string& name : names) {
    EXPECT_THAT(run.out, HasSubstr("made/" + name));
    EXPECT_TRUE(has("made/" + name));
  }
  const json made = figures("inspect --x made/train_x_*.npy --y made/train_y_*.npy --classes 4");
  expect_members(made, {{"rows", 1000}, {"features", 24}});
  const auto counts = made["class_rows"].get<std::vector<double>>();
  EXPECT_TRUE(std::is_sorted(counts.rbegin(), counts.rend()));
  EXPECT_NEAR(counts.front() / counts.back(), 8.0, 0.3);
  succeed(synth + "--out again --seed 5", 3);
  EXPECT_TRUE(content_of(folder_ / "again") == content_of(folder_ / "made"));
  succeed(synth + "--out other --seed 6");
  EXPECT_FALSE(content_of(folder_ / "other") == content_of(folder_ / "made"));

  succeed("synth --out . --rows 1000 --test-rows 0 --dim 8 --classes 5 --majority-share 0.6");
  EXPECT_EQ(counts_of(labels_in("train_y.npy", 5), 5), (std::vector<std::uint64_t>{600, 100, 100, 100, 100}));
}

TEST_F(CommandsTest, SanitizedRowsAreTheRowsWithNoiseAndTheLabelsThemselves) {
  succeed("synth --out . --rows 500 --test-rows 0 --dim 16 --classes 4");
  const std::string sanitize = "synth sanitize --x train_x.npy --y train_y.npy --clip 2 --mu 4000 --out ";
  const json report = figures(sanitize + "noised");
  EXPECT_TRUE(report.at("private").get<bool>());
  EXPECT_NEAR(report.at("sigma"), 2.0 * 2.0 / 4000.0, 1e-6) << "2 C / mu, and the lattice's rounding";
  EXPECT_THAT(report.at("does_not_protect").get<std::string>(), HasSubstr("labels"));
  EXPECT_EQ(labels_in("noised/y.npy", 4), labels_in("train_y.npy", 4));
  const std::vector<float> rows = features_in("train_x.npy");
  const std::vector<float> noised = features_in("noised/x.npy");
  double squares = 0.0;
  for (std::size_t row = 0; row < 500; ++row) {
    const auto x = std::span(rows).subspan(row * 16, 16);
    const double norm = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
    for (std::size_t a = 0; a < 16; ++a) squares += std::pow(noised[row * 16 + a] - 2.0 * x[a] / norm, 2);
  }
  // 8,000 samples, plus a lattice rounding of at most 6 % of sigma: within 10 % with a false alarm below 1e-9.
  EXPECT_NEAR(std::sqrt(squares / 8000.0), 0.001, 0.0001);
}

TEST_F(CommandsTest, SanitizingAgainGivesOtherNoiseUnlessItIsSeeded) {
  succeed("synth --out . --rows 50 --test-rows 0 --dim 4 --classes 2");
  const std::string sanitize = "synth sanitize --x train_x.npy --epsilon 1 --delta 1e-5 --out ";
  for (const std::string seed : {"", " --seed 3"}) {
    const std::string told = succeed(sanitize + "a" + seed).out;
    succeed(sanitize + "b" + seed, 2);
    EXPECT_EQ(bytes("a/x.npy") == bytes("b/x.npy"), !seed.empty());
    EXPECT_EQ(told.find("NOT private") != std::string::npos, !seed.empty());
  }
  EXPECT_FALSE(has("a/y.npy"));
}

// Each run is a release of its own, within the budget of the rows; a run that is refused, or that meets a bad row or a
// file that is there, leaves no line.
TEST_F(CommandsTest, SanitizingIsChargedOnTheLedgerThatIsGiven) {
  succeed("synth --out . --rows 50 --test-rows 0 --dim 4 --classes 2");
  const std::string sanitize =
      "synth sanitize --x train_x.npy --epsilon 1 --delta 1e-5 --ledger s.jsonl --budget-epsilon 1.2 --budget-delta "
      "1e-5 --out ";
  std::filesystem::create_directory(folder_ / "full");
  write_bytes(folder_ / "full/x.npy", "kept");
  expect_refusal(run_with({.keeps_files = true}, sanitize + "full"), 3, {"full/x.npy"});
  EXPECT_FALSE(has("s.jsonl"));
  EXPECT_THAT(succeed(sanitize + "a").out, HasSubstr("mu^2 adds up (on s.jsonl)"));
  const LedgerState one = Ledger::read(folder_ / "s.jsonl");
  ASSERT_EQ(one.charges().size(), 1U);
  EXPECT_TRUE(one.open_runs().empty());
  const LedgerEntry& entry = one.charges()[0].entry;
  EXPECT_EQ(entry.terms.method, "sanitize");
  EXPECT_EQ(entry.terms.adjacency, Adjacency::kReplaceOne);
  EXPECT_TRUE(entry.terms.is_private);
  EXPECT_NEAR(entry.mu, gdp_mu(1.0, 1e-5), 1e-9);
  expect_refused(sanitize + "b", 4, "s.jsonl: recorded runs have spent epsilon");

  succeed("synth sanitize --x train_x.npy --mu 1 --seed 3 --ledger seeded.jsonl --out c");
  EXPECT_FALSE(Ledger::read(folder_ / "seeded.jsonl").charges().at(0).entry.terms.is_private);
  expect_refused("synth sanitize --x train_x.npy --mu 1 --budget-epsilon 1 --budget-delta 1e-5 --out d", 2, "--ledger");
  expect_refused("synth sanitize --x train_x.npy --mu 1 --ledger s.jsonl --budget-epsilon 1 --out d", 2, "go together");
  expect_refused(sanitize + "d --seed 3", 2,
                 "anyone can compute seeded noise, so the run has no finite epsilon; leave one out");
  TrainingRows bad = make_rows({20, 20}, 4);
  bad.features[5] = std::numeric_limits<float>::quiet_NaN();
  write_rows(bad, "bad.npy", "bad_y.npy");
  expect_refused("synth sanitize --x bad.npy --mu 1 --ledger bad.jsonl --out e", 3, "bad.npy: row 1");
}

// Help of the other commands: commands/command_line_test.
TEST_F(CommandsTest, HelpAndTheVersionAreToldAndNoCommandIsAnError) {
  EXPECT_THAT(succeed("--help").out, HasSubstr("Exit codes"));
  for (const std::string command : {"ledger release", "synth sanitize", "synth partition", "keygen"}) {
    expect_parts(succeed(command + " --help").out, {"Examples:", "dpreduce " + command});
  }
  EXPECT_EQ(succeed("fit --help", 3).out, succeed("fit --help").out);
  EXPECT_THAT(succeed("--version").out, testing::MatchesRegex("dpreduce [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(run("").exit_code, 2);
}

}  // namespace dpreduce::commands_test
