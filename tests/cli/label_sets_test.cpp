// Rows of several classes, of one and of none, from files to models.
#include "common/data/sharded_array.hpp"
#include "common/model/classifier_file.hpp"
#include "tests/cli/program_test.hpp"
#include "tests/elimination.hpp"

namespace dpreduce::label_sets_test {

constexpr std::size_t kClasses = 4;
constexpr std::size_t kDim = 6;

class LabelSets : public ProgramTest {
 protected:
  LabelSets() {
    for (std::size_t row = 0; row < rows_.rows(); ++row) {
      const auto label = static_cast<std::size_t>(rows_.labels[row]);
      if (row % 7 != 3) set(row, label);                             // every seventh row is of no class
      if (row % 3 == 0) set(row, (label + 1 + row % 2) % kClasses);  // every third one of another, too
    }
    write_rows(rows_);
    write_sets("sets.npy", sets_);
    TrainingRows other = rows_;  // not the training rows, and not far from them
    other.features.front() += 1.0F;
    write_rows(other, "other_x.npy", "other_y.npy");
    write_sets("other_sets.npy", sets_);
  }

  void set(std::size_t row, std::size_t label) { sets_[row * kClasses + label] = 1; }

  void write_sets(const std::string& name, const std::vector<std::uint8_t>& sets) const {
    write_npy(folder_ / name, sets, kClasses);
  }

  // The report of a fit.
  json fit(const std::string& options, int ranks = 0) const {
    json report = figures("fit --classes 4 --train-x x.npy --out model --ledger ledger " + options, ranks);
    std::filesystem::remove(folder_ / "ledger");
    return report;
  }

  std::string model(const std::string& options) const {
    fit(options);
    return bytes("model");
  }

  // q / scale of a row: as lattices are defined.
  std::vector<double> lattice_row(std::size_t row) const {
    const double scale = 32767.0 - std::ceil(std::sqrt(static_cast<double>(kDim)) / 2.0);
    const auto first = rows_.features.begin() + static_cast<std::ptrdiff_t>(row * kDim);
    std::vector<double> x(first, first + kDim);
    const double length = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
    for (double& value : x) value = std::round(value * scale / length) / scale;
    return x;
  }

  bool is_of(std::size_t row, std::size_t label) const { return sets_[row * kClasses + label] != 0; }
  // Expects W, K x d, of the model to be (sum_i weight(i, c) x_i x_i' + lambda I)^-1 sum of the rows of class c.
  void expect_ridge(double lambda, const std::function<double(std::size_t row, std::size_t label)>& weight) const {
    const Classifier classifier = load_classifier(folder_ / "model");
    for (std::size_t c = 0; c < kClasses; ++c) {
      NormalEquations equations(kDim, lambda);
      for (std::size_t i = 0; i < rows_.rows(); ++i)
        equations.add(lattice_row(i), weight(i, c), is_of(i, c) ? 1.0 : 0.0);
      const std::vector<double> expected = equations.theta();
      for (std::size_t a = 0; a < kDim; ++a) {
        EXPECT_NEAR(classifier.parts().weights[c * kDim + a], expected[a], 1e-6) << c << " " << a;
      }
    }
  }

  const TrainingRows rows_ = make_rows({40, 30, 20, 25}, kDim);
  std::vector<std::uint8_t> sets_ = std::vector<std::uint8_t>(rows_.rows() * kClasses, 0);
  const std::string of_sets_ = "--train-y sets.npy --max-labels 2 ";
};

TEST_F(LabelSets, OneLabelARowIsTheSameAsAClassIndex) {
  std::vector<std::uint8_t> one_hot(sets_.size(), 0);
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    one_hot[row * kClasses + static_cast<std::size_t>(rows_.labels[row])] = 1;
  }
  write_sets("one_hot.npy", one_hot);
  for (const std::string method :
       {"ls", "mean", "fisher", "fc --rounds 2 --loss sigmoid", "newton --rounds 4 --warm-start --choose"}) {
    const std::string options = " --mu 20 --seed 3 --adjacency replace-one --method " + method;
    EXPECT_EQ(model("--train-y one_hot.npy --max-labels 1" + options), model("--train-y y.npy" + options)) << method;
  }
}

TEST_F(LabelSets, RidgeIsTheClosedForm) {
  fit(of_sets_ + "--non-private --method ls --shared-gram");
  expect_ridge(1.0, [](std::size_t, std::size_t) { return 1.0; });
  fit(of_sets_ + "--non-private --method ls --alpha 2 --lambda 0.5");
  expect_ridge(0.5, [&](std::size_t row, std::size_t c) { return is_of(row, c) ? 3.0 : 2.0; });
  EXPECT_DOUBLE_EQ(load_classifier(folder_ / "model").parts().threshold.value(), 1.0 / 5.0);
}

TEST_F(LabelSets, ARowOfMoreLabelsThanTheBoundMayCountNowhere) {
  const std::string options = "--max-labels 2 --non-private --bad-rows zero --method ls --train-y ";
  std::vector<std::uint8_t> crowded = sets_;
  for (std::size_t c = 0; c < kClasses; ++c) crowded[5 * kClasses + c] = 1;
  write_sets("crowded.npy", crowded);
  const std::string with_it = model(options + "crowded.npy");
  TrainingRows others = rows_;
  others.features.erase(others.features.begin() + 5 * kDim, others.features.begin() + 6 * kDim);
  others.labels.erase(others.labels.begin() + 5);
  sets_.erase(sets_.begin() + 5 * kClasses, sets_.begin() + 6 * kClasses);
  write_rows(others);
  write_sets("sets.npy", sets_);
  EXPECT_EQ(model(options + "sets.npy"), with_it);
}

TEST_F(LabelSets, AutoChoosesSigmoidsAndReportsAreAboutSets) {
  const std::string options =
      of_sets_ + "--mu 50 --seed 3 --test-x other_x.npy --test-y other_sets.npy --report report";
  const json report = fit(options);
  expect_members(report, {{"method", "fc"}, {"loss", "sigmoid"}, {"max_labels", 2}});
  const json& test = report["test"];
  expect_members(test, {{"rows", 115}, {"threshold", 0.0}});
  for (const auto& [figure, least] : {std::pair{"mean_average_precision", 0.6}, {"hit_rate", 0.6}, {"micro_f1", 0.4}}) {
    EXPECT_GT(test[figure], least) << figure;
  }
  EXPECT_EQ(fit(options, 3)["test"], test) << "the same figures from three ranks";
  for (const int ranks : {0, 2}) {
    const json again = figures("evaluate --model model --x other_x.npy --y other_sets.npy", ranks);
    for (const char* key : {"mean_average_precision", "per_class_support"}) EXPECT_EQ(again[key], test[key]);
  }
  expect_refused("evaluate --model model --x x.npy --y sets.npy --train-y sets.npy", 2,
                 "minority accuracy is about rows of one class");
}

TEST_F(LabelSets, TheChosenAlphaHasItsOwnThreshold) {
  const json choice = fit(of_sets_ + "--non-private --method ls --alpha 2 --choose --report report")["choice"];
  const std::string setting = choice["setting"];
  ASSERT_THAT(setting, StartsWith("alpha "));
  EXPECT_EQ(choice["candidates"], 12);
  EXPECT_DOUBLE_EQ(load_classifier(folder_ / "model").parts().threshold.value(),
                   0.5 / (0.5 + std::stod(setting.substr(6))));
}

// The best of all candidates by hits is kept. `--iterate` names two of them.
TEST_F(LabelSets, ValidationRowsMayHaveAnyNumberOfLabels) {
  for (std::size_t c = 0; c < kClasses; ++c) sets_[5 * kClasses + c] = 1;
  write_sets("crowded.npy", sets_);
  const auto hit_rate = [&](const std::string& further) {
    const json report =
        fit(of_sets_ + "--mu 3 --seed 5 --method gd --rounds 8 --test-x other_x.npy --test-y crowded.npy " + further);
    return report["test"]["hit_rate"].get<double>();
  };
  const double chosen = hit_rate("--choose --validation-x other_x.npy --validation-y crowded.npy");
  for (const char* iterate : {"--iterate last", "--iterate average"}) EXPECT_GE(chosen, hit_rate(iterate)) << iterate;
}

TEST_F(LabelSets, WhatHoldsOtherEntriesOrIsLeftToItsOwnerIsRefusedBeforeAnythingIsSpent) {
  sets_[7] = 2;
  write_sets("twos.npy", sets_);
  expect_refused("fit --classes 4 --train-x x.npy " + of_sets_ +
                     "--mu 1 --method fc --choose --ledger ledger --validation-x other_x.npy --validation-y twos.npy",
                 3, "twos.npy: row 1 has entry 2");
  expect_refused("synth sanitize --x x.npy --y sets.npy --mu 1 --out made", 2, "leave n x K labels out");
}

TEST_F(LabelSets, SensitivitiesOfThePlanGrowWithTheBound) {
  const auto sensitivity = [&](const std::string& options) -> double {
    return fit(options + " --mu 1 --method mean --dry-run")["privacy"]["releases"][0]["sensitivity"];
  };
  const double one = sensitivity("--train-y y.npy");
  EXPECT_NEAR(sensitivity("--train-y sets.npy --max-labels 3"), std::sqrt(3.0) * one, 1e-9 * one);
}

TEST_F(LabelSets, InspectTellsHowManyLabelsRowsHave) {
  const json told = figures("inspect --x x.npy --y sets.npy --classes 4", 2);
  std::vector<std::uint64_t> by_number(3, 0);
  std::vector<std::uint64_t> by_class(kClasses, 0);
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    const auto set = std::span(sets_).subspan(row * kClasses, kClasses);
    for (std::size_t c = 0; c < kClasses; ++c) by_class[c] += set[c];
    ++by_number[std::accumulate(set.begin(), set.end(), std::size_t{0})];
  }
  expect_members(told, {{"rows_by_number_of_labels", by_number}, {"most_labels", 2}, {"class_rows", by_class}});
}

// From made files to figures. What is predicted as sets is right in each pair of row and class when it is the truth.
TEST_F(LabelSets, MadeRowsAreTrainedOnPredictedAndEvaluated) {
  succeed(
      "synth --out made --rows 3000 --test-rows 500 --dim 24 --classes 8 --stochastic 0.05 --test-stochastic 0.05 "
      "--max-labels 2 --shards 2");
  succeed(
      "fit --classes 8 --train-x made/train_x_0.npy made/train_x_1.npy --train-y made/train_y_0.npy made/train_y_1.npy "
      "--max-labels 2 --mu 2 --seed 1 --method ls --shared-gram --out model",
      2);
  const std::string evaluate = "evaluate --model model --x made/test_x.npy --y ";
  const json figures = this->figures(evaluate + "made/test_y.npy --top-k 2");
  EXPECT_EQ(figures["top_k"], 2);
  EXPECT_GT(figures["hit_rate"], 0.9);
  EXPECT_GT(figures["recall_at_k"], 0.8);
  EXPECT_GT(figures["precision_at_k"], 0.6) << "of two guesses a row, where a half has one class";
  EXPECT_EQ(this->figures(evaluate + "made/test_y.npy --top-k 2", 3)["precision_at_k"], figures["precision_at_k"]);
  const json one = this->figures(evaluate + "made/test_y.npy --top-k 1");
  EXPECT_EQ(one["precision_at_k"], one["hit_rate"]);
  const std::string predict = "predict --model model --x made/test_x.npy ";
  for (const std::string threshold : {"", " --threshold 0.3"}) {
    succeed(predict + "--sets --out predicted.npy" + threshold);
    const json right = this->figures(evaluate + "predicted.npy" + threshold);
    expect_members(right, {{"micro_f1", 1.0}, {"macro_f1", 1.0}, {"threshold", threshold.empty() ? 0.5 : 0.3}});
    succeed(predict + "--sets --out predicted_3.npy" + threshold, 3);
    EXPECT_TRUE(bytes("predicted_3.npy") == bytes("predicted.npy"));
  }

  const std::vector<std::string> best = lines_of(succeed(predict).out);
  const std::vector<std::string> two = lines_of(succeed(predict + "--top-k 2").out);
  ASSERT_EQ(best.size(), 500u);
  ASSERT_EQ(two.size(), 500u);
  for (std::size_t row = 0; row < 500; ++row) EXPECT_TRUE(two[row].starts_with(best[row] + " ")) << two[row];
  EXPECT_EQ(lines_of(succeed(predict + "--top-k 2", 3).out), two);
  succeed(predict + "--top-k 2 --out two.npy");
  ShardedArray array({folder_ / "two.npy"}, ArrayRole::kLabels);
  EXPECT_EQ(array.rows(), 500u);
  EXPECT_EQ(array.columns(), 2u);
}

TEST_F(LabelSets, WhatAModelHasNotIsRefused) {
  fit(of_sets_ + "--mu 1 --method mean");
  for (const auto& [command, said] :
       {std::pair{"predict --model model --x x.npy --sets --out o", "--sets: model has no threshold"},
        {"predict --model model --x x.npy --top-k 5", "--top-k 5: must be at most 4"},
        {"evaluate --model model --x x.npy --y sets.npy --top-k 5", "--top-k 5: must be at most 4"},
        {"evaluate --model model --x x.npy --y y.npy --top-k 2", "--top-k: --y has one class index a row"},
        {"evaluate --model model --x x.npy --y y.npy --threshold 2", "--threshold: --y has one class index a row"}}) {
    expect_refused(command, 2, said);
  }
  // At the threshold that was given.
  expect_parts(succeed("evaluate --model model --x x.npy --y sets.npy --threshold 0.2 --top-k 2").out,
               {"precision at 2", "micro F1"});
}

}  // namespace dpreduce::label_sets_test
