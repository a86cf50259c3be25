// --imbalance-ratio: the same part of the rows everywhere, and what is told of it.
#include "common/model/classifier_file.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::imbalance_test {

class ImbalanceTest : public ProgramTest {
 protected:
  ImbalanceTest() {
    const TrainingRows all = make_rows({1500, 1500, 1500, 1500, 1500}, 12);
    write_rows(all.part(0, 6000));
    write_rows(all.part(6000, 1500), "test_x.npy", "test_y.npy");
  }

  // A fit on the rows above.
  json report(const std::string& options, int ranks = 0) const {
    succeed(
        "fit --classes 5 --train-x x.npy --train-y y.npy --test-x test_x.npy --test-y test_y.npy --report "
        "report.json --out model " +
            options,
        ranks);
    return document("report.json");
  }

  // A sweep may be hundreds of fits, on a machine that others use.
  ProgramRun run(const std::string& arguments, int ranks = 0) const override {
    return run_with({.ranks = ranks, .timeout_seconds = 240.0}, arguments);
  }

  // Sweeps `methods` (a space in one written as ~) on half of `rows` Gaussian rows of ten classes and 128 features.
  // The other half is public.
  json sweep_of_mixture(const std::string& rows, const std::string& spread, const std::string& methods,
                        const std::string& settings) const {
    succeed(
        "synth --out syn --kind gaussian-mixture --test-rows 4000 --dim 128 --classes 10 --separation 1 --seed 3 "
        "--shards 2 --rows " +
        rows + " --spread " + spread);
    succeed(
        "sweep --train-x syn/train_x_0.npy --train-y syn/train_y_0.npy --public-x syn/train_x_1.npy --test-x "
        "syn/test_x.npy --test-y syn/test_y.npy --classes 10 --methods " +
            methods + " " + settings,
        2);
    return document("sweep.json");
  }

  static double median(const json& swept, const std::string& method, double ratio, double epsilon, const char* figure) {
    std::vector<double> values;
    for (const json& one : swept["runs"]) {
      if (one["method"] != method || one["imbalance_ratio"] != ratio || one["epsilon"] != epsilon) continue;
      values.push_back(one["test"][figure]);
    }
    EXPECT_EQ(values.size() % 2, 1u) << method;
    std::sort(values.begin(), values.end());
    return values.at(values.size() / 2);
  }
};

TEST_F(ImbalanceTest, TheReportHasTheLawTheMinorityAndATableByClass) {
  const json report = this->report("--method mean --mu 1 --imbalance-ratio 16");
  EXPECT_TRUE(report["private"]);  // noise has no seed
  expect_members(report["imbalance"], {{"ratio", 16.0}, {"seed", 1}});
  EXPECT_THAT(report["imbalance"]["note"].get<std::string>(), HasSubstr("experiment"));
  // A row is kept whatever the others are, so that neighbors stay neighbors (long_tail_test).
  EXPECT_THAT(succeed("privacy explain report.json").out,
              AllOf(HasSubstr("it covers all rows, including those left out for the long tail"),
                    Not(HasSubstr("depends on all of them"))));
  const json& test = report["test"];
  EXPECT_EQ(test["minority_classes"], json({3, 4}));
  const std::vector<double> recalls = test["per_class"];
  EXPECT_DOUBLE_EQ(test["minority_accuracy"], (recalls[3] + recalls[4]) / 2.0);
  ASSERT_EQ(test["by_class"].size(), 5u);
  for (std::size_t c = 0; c < 5; ++c) {
    const json& row = test["by_class"][c];
    EXPECT_NEAR(row["training_share"], std::pow(2.0, -static_cast<double>(c)), 1e-12);
    expect_members(row, {{"class", c},
                         {"recall", test["per_class"][c]},
                         {"support", test["per_class_support"][c]},
                         {"minority", c >= 3}});
  }
  const json of_all_rows = this->report("--method mean --mu 1 --imbalance-ratio 1");
  EXPECT_FALSE(of_all_rows.contains("imbalance"));
  EXPECT_FALSE(of_all_rows["test"].contains("minority_accuracy"));
}

// On a tail of 64 to 1 in five classes at epsilon 2, means of 45 runs: 0.852 becomes 0.960 on the minority, and 0.941
// becomes 0.981 in balanced accuracy; a third of that is asked for. Means of 15 differ by up to .06, as noise does. At
// 0.3 there is nothing to gain: the smallest class is lost in noise.
TEST_F(ImbalanceTest, ABalancedObjectiveServesSmallClassesBetterAndSaysWhatItReleased) {
  const auto trained = [&](const std::string& options, int ranks = 0) {
    return report("--method auto --epsilon 2 --delta 1e-5 --imbalance-ratio 64 " + options, ranks);
  };
  const auto means_of = [&](const std::string& options) {
    constexpr int kSeeds = 15;
    std::array<double, 2> means{};
    for (int seed = 1; seed <= kSeeds; ++seed) {
      const json test = trained(options + "--seed " + std::to_string(seed))["test"];
      means[0] += test["minority_accuracy"].get<double>() / kSeeds;
      means[1] += test["balanced_accuracy"].get<double>() / kSeeds;
    }
    return means;
  };
  const auto plain_means = means_of("");
  const auto balanced_means = means_of("--objective balanced ");
  EXPECT_GE(balanced_means[0], plain_means[0] + 0.035);
  EXPECT_GE(balanced_means[1], plain_means[1] + 0.013);
  EXPECT_FALSE(trained("--seed 1").contains("objective"));
  const json balanced = trained("--objective balanced --seed 1");
  const std::string alone = bytes("model");
  expect_members(balanced, {{"objective", "balanced"}, {"method", "fc"}});
  bool has_sizes = false;
  for (const json& release : balanced["privacy"]["releases"]) has_sizes |= release["release"] == "class_sizes";
  EXPECT_TRUE(has_sizes);
  trained("--objective balanced --seed 1", 3);
  EXPECT_EQ(bytes("model"), alone);
}

// Two classes, 99 to 1: 0.865 and 0.885 with seeds 1 and 2, where rounds from equal shares came to 0.761 and 0.790.
TEST_F(ImbalanceTest, ARareClassOfTwoIsFoundWhereRoundsBeginAtTheShares) {
  succeed(
      "synth --kind gaussian-mixture --rows 20000 --test-rows 4000 --dim 32 --classes 2 --spread 0.5 --imbalance-ratio "
      "99 --seed 1 --out rare");
  for (const char* seed : {"1", "2"}) {
    const std::string rare =
        "--train-x rare/train_x.npy --train-y rare/train_y.npy --test-x rare/test_x.npy --test-y rare/test_y.npy ";
    EXPECT_GE(figures("fit --method auto --objective balanced --classes 2 --epsilon 1 --delta 1e-6 --out model " +
                      rare + "--seed " + seed)["test"]["balanced_accuracy"],
              0.83);
  }
}

// 1 % of the rows, between the others: the fit for accuracy is right in calling none so.
TEST_F(ImbalanceTest, WhatIsTooRareToBeCalledIsSaidAndWeighed) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  TrainingRows rows;
  rows.dim = 20;
  for (std::size_t row = 0; row < 12000; ++row) {
    const bool is_sick = row % 100 == 7;
    for (std::size_t a = 0; a < rows.dim; ++a) {
      rows.features.push_back(normal(random) + (is_sick && a < 5 ? 1.0F : 0.0F));
    }
    rows.labels.push_back(is_sick ? 1 : 0);
  }
  write_rows(rows.part(0, 8000), "rare_x.npy", "rare_y.npy");
  write_rows(rows.part(8000, 4000), "other_x.npy", "other_y.npy");
  write_bytes(folder_ / "names.txt", "well\nsick\n");
  const std::string test = " --test-x other_x.npy --test-y other_y.npy ";
  const std::string fit = "fit --train-x rare_x.npy --train-y rare_y.npy --class-names names.txt" + test +
                          "--epsilon 4 --delta 1e-6 --seed 1 --report report.json --out ";
  EXPECT_THAT(
      succeed(fit + "plain --html plain.html").out,
      HasSubstr("no test row is predicted as \"sick\": try --objective balanced; dpreduce export --class-weights"));
  EXPECT_THAT(bytes("plain.html"), HasSubstr("o test row is predicted as &quot;sick&quot;"));
  EXPECT_FALSE(document("report.json").contains("class_shares"));
  expect_parts(succeed(fit + "balanced --objective balanced --html balanced.html").out,
               {"rare: \"sick\" (", "this balanced one for many other rows"});
  EXPECT_THAT(bytes("balanced.html"), HasSubstr("are: &quot;sick&quot; ("));
  const json shares = document("report.json")["class_shares"];
  EXPECT_NEAR(shares["shares"][1], 0.01, 4 * shares["noise"].get<double>());
  EXPECT_THAT(succeed("privacy explain report.json").out, HasSubstr("rare: \"sick\" ("));
  EXPECT_THAT(succeed("inspect --x rare_x.npy --y rare_y.npy --classes 2").out,
              HasSubstr("class 1 has 80 of 8000 rows"));

  write_bytes(folder_ / "gaps.csv", "age,none\n1,\n3,\n");
  const json columns = figures("inspect --x gaps.csv")["columns"];
  EXPECT_EQ(columns[0]["max"], 3.0);
  EXPECT_EQ(columns[1],
            json::parse(R"({"name":"none","min":null,"max":null,"mean":null,"deviation":null,"missing":2})"));
  const auto of_sick = [&](const std::string& model, const char* figure) {
    return figures("evaluate --model " + model + test)[figure][1];
  };
  succeed("export plain --class-weights sick=40 --out weighed");
  EXPECT_TRUE(of_sick("plain", "per_class_precision").is_null());
  EXPECT_LT(of_sick("balanced", "per_class_precision").get<double>(), 0.06);
  EXPECT_GT(of_sick("weighed", "per_class_precision"), 0.08);
  EXPECT_GT(of_sick("weighed", "per_class"), 0.3);
  const json best = figures("evaluate --private --model plain --metrics roc --mu 1 --seed 1 --ledger test.jsonl" +
                            test)["metrics"]["best_f1"];
  const double weight = best["weight"];
  succeed(fmt::format("export plain --class-weights sick={} --out found", weight));
  const double f1 = of_sick("found", "per_class_f1");
  EXPECT_NEAR(best["value"], f1, 0.1);
  EXPECT_GT(f1, 0.15) << weight;
  succeed("export weighed --class-weights sick=0.1,well=4.0 --out back");
  const std::vector<double> bias = load_classifier(folder_ / "plain").parts().bias;
  const std::vector<double> again = load_classifier(folder_ / "back").parts().bias;
  EXPECT_NEAR(bias[0] - bias[1], again[0] - again[1], 1e-12) << "40 / 10 and 4: odds as they were";

  for (const auto& [weights, said] : std::map<std::string, const char*>{{"1=3", "one of the 2 classes by its name"},
                                                                        {"sick", "give CLASS=W"},
                                                                        {"sick=0", "must be above 0 and finite"},
                                                                        {"sick=2,sick=3", "give each class once"}}) {
    expect_refused("export plain --out no --class-weights " + weights, 2, said);
  }
  expect_refused("export plain", 2, "nothing to write: give --card FILE");
  succeed("fit --method ls --train-x rare_x.npy --train-y rare_y.npy --classes 2 --mu 1 --seed 1 --out squares");
  expect_refused("export squares --out no --class-weights 1=3", 2, "scores of method ls are no log probabilities");
}

// Found on a synthetic tail of 100 to 1 (ten Gaussian classes, 128 features, 6,000 rows, as many public ones),
// medians of 27 seeds; margins are half of what was seen. [wahdany2025] has public rows ahead at every small
// epsilon: here choices at 0.1 are chance, and means lose less; at 0.3 three seeds had public rows ahead, 25 have not.
TEST_F(ImbalanceTest, OrderingsOnASyntheticTailAreAsTheyWereFound) {
  const json swept = sweep_of_mixture("12000", "0.08", "mean,public,ls,auto,auto~--objective~balanced",
                                      "--epsilons 0.1,0.3,1 --imbalance 100 --seeds 27");
  const auto median_of = [&](const std::string& method, double epsilon, const char* figure) {
    return median(swept, method, 100.0, epsilon, figure);
  };
  const auto balanced = [&](const std::string& method, double epsilon) {
    return median_of(method, epsilon, "balanced_accuracy");
  };
  EXPECT_GE(balanced("mean", 0.1), balanced("public", 0.1) + 0.05);
  EXPECT_GE(median_of("public", 1.0, "minority_accuracy"), median_of("ls", 1.0, "minority_accuracy") + 0.09);
  // The means are 0.53 and 0.46 at 0.1, 0.73 and 0.61 at 0.3, 0.87 and 0.79 at 1.
  for (const double epsilon : {0.1, 0.3, 1.0}) {
    EXPECT_GE(balanced("auto --objective balanced", epsilon), balanced("auto", epsilon) + 0.035) << epsilon;
  }
  EXPECT_GE(median_of("auto --objective balanced", 1.0, "minority_accuracy"), 0.5);
}

// The order of [wahdany2025] where one row stands less well for its class than a mean (12,000 rows, as many public
// ones): `mean` overtakes `public`, and both are ahead of DP-LS. That `public` is first at small epsilon is not seen:
// over 100 seeds it comes to 0.35 on small classes at 0.3, `mean` to 0.34 and `ls` to 0.15.
TEST_F(ImbalanceTest, OnWideClassesMeansOvertakePublicRowsAndBothAreAheadOfLeastSquares) {
  const json swept =
      sweep_of_mixture("24000", "0.18", "mean,public,ls", "--epsilons 0.3,8 --imbalance 30,100 --seeds 15");
  const auto minority = [&](const std::string& method, double ratio, double epsilon) {
    return median(swept, method, ratio, epsilon, "minority_accuracy");
  };
  EXPECT_GE(minority("public", 30, 0.3), minority("ls", 30, 0.3) + 0.06);
  EXPECT_GE(minority("mean", 30, 0.3), minority("ls", 30, 0.3) + 0.06);
  EXPECT_GE(minority("mean", 30, 8), minority("public", 30, 8) + 0.03);
  EXPECT_GE(minority("public", 30, 8), minority("ls", 30, 8));
  EXPECT_GE(minority("mean", 100, 0.3), minority("ls", 100, 0.3) + 0.025);
  EXPECT_GE(minority("mean", 100, 8), minority("public", 100, 8) + 0.025);
  EXPECT_GE(minority("public", 100, 8), minority("ls", 100, 8) + 0.23);
  for (const double ratio : {30.0, 100.0}) {
    EXPECT_GE(median(swept, "mean", ratio, 8, "balanced_accuracy"),
              median(swept, "public", ratio, 8, "balanced_accuracy") + 0.025);
  }
}

// The worth of public rows to rounds on the same wide classes at ratio 30 (half of them training rows): the center
// and the refinement take epsilon 0.3 from 0.751 balanced and 0.403 on the minority to 0.841 and 0.615, epsilon 1 from
// 0.928 and 0.869 to 0.981 and 0.960 (16,000 rows, nine seeds). Half of that gain is asked for, and a level, since what
// it is compared with may become better, too.
TEST_F(ImbalanceTest, PublicRowsMakeABalancedObjectiveBetterOnEveryCount) {
  const std::string with = "auto --objective balanced --expected-rows 16000";
  const std::string without = with + " --center dp";
  std::string methods = with + "," + without;
  std::replace(methods.begin(), methods.end(), ' ', '~');
  const json swept = sweep_of_mixture("32000", "0.18", methods, "--epsilons 0.3,1 --imbalance 30 --seeds 9");
  for (const auto& [epsilon, figure, gain, level] : {std::tuple{0.3, "balanced_accuracy", 0.045, 0.8},
                                                     {0.3, "minority_accuracy", 0.1, 0.45},
                                                     {1.0, "balanced_accuracy", 0.026, 0.96},
                                                     {1.0, "minority_accuracy", 0.045, 0.9}}) {
    const double reached = median(swept, with, 30, epsilon, figure);
    EXPECT_GE(reached - median(swept, without, 30, epsilon, figure), gain) << figure << " at " << epsilon;
    EXPECT_GE(reached, level) << figure << " at " << epsilon;
  }
  EXPECT_GE(median(swept, without, 30, 0.3, "minority_accuracy"), 0.27);  // what it was by the former cleaning
}

}  // namespace dpreduce::imbalance_test
