// Rows of several classes, of one and of none, from files to models.
#include <cstdio>

#include "common/data/sharded_array.hpp"
#include "common/model/classifier_file.hpp"
#include "tests/cli/program_test.hpp"
#include "tests/elimination.hpp"

namespace dpreduce::label_sets_test {

constexpr std::size_t kClasses = 4;
constexpr std::size_t kDim = 6;
using Matrix = std::vector<std::vector<double>>;

class LabelSets : public ProgramTest {
 protected:
  void SetUp() override {
    rows_ = make_rows({40, 30, 20, 25}, kDim);
    sets_.assign(rows_.rows() * kClasses, 0);
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

  ProgramRun fit(const std::string& options, int ranks = 0) const {
    const ProgramRun run =
        succeed("fit --classes 4 --train-x x.npy --format json --out model --ledger ledger " + options, ranks);
    std::filesystem::remove(folder_ / "ledger");
    return run;
  }

  std::string model(const std::string& options, int ranks = 0) const {
    fit(options, ranks);
    return bytes("model");
  }

  // q / scale of every row, n x d: as lattices are defined.
  Matrix lattice_rows() const {
    const double scale = 32767.0 - std::ceil(std::sqrt(static_cast<double>(kDim)) / 2.0);
    Matrix x(rows_.rows(), std::vector<double>(kDim));
    for (std::size_t i = 0; i < x.size(); ++i) {
      double squares = 0.0;
      for (std::size_t a = 0; a < kDim; ++a) {
        x[i][a] = double{rows_.features[i * kDim + a]};
        squares += x[i][a] * x[i][a];
      }
      for (double& value : x[i]) value = std::round(value * scale / std::sqrt(squares)) / scale;
    }
    return x;
  }

  bool is_of(std::size_t row, std::size_t label) const { return sets_[row * kClasses + label] != 0; }

  // Expects W, K x d, of the model to be (sum_i weight(i, c) x_i x_i' + lambda I)^-1 sum of the rows of class c.
  void expect_ridge(double lambda, const std::function<double(std::size_t row, std::size_t label)>& weight) const {
    const Matrix x = lattice_rows();
    const Classifier classifier = load_classifier(folder_ / "model");
    for (std::size_t c = 0; c < kClasses; ++c) {
      Matrix gram(kDim, std::vector<double>(kDim, 0.0));
      std::vector<double> sum(kDim, 0.0);
      for (std::size_t a = 0; a < kDim; ++a) gram[a][a] = lambda;
      for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t a = 0; a < kDim; ++a) {
          for (std::size_t b = 0; b < kDim; ++b) gram[a][b] += weight(i, c) * x[i][a] * x[i][b];
          if (is_of(i, c)) sum[a] += x[i][a];
        }
      }
      const std::vector<double> expected = solved_by_elimination(gram, sum);
      for (std::size_t a = 0; a < kDim; ++a) {
        EXPECT_NEAR(classifier.parts().weights[c * kDim + a], expected[a], 1e-6) << c << " " << a;
      }
    }
  }

  TrainingRows rows_;
  std::vector<std::uint8_t> sets_;
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
  const json report = fit(options).json();
  expect_members(report, {{"method", "fc"}, {"loss", "sigmoid"}, {"max_labels", 2}});
  const json& test = report["test"];
  expect_members(test, {{"rows", 115}, {"threshold", 0.0}});
  EXPECT_GT(test["mean_average_precision"].get<double>(), 0.6);
  EXPECT_GT(test["hit_rate"].get<double>(), 0.6);
  EXPECT_GT(test["micro_f1"].get<double>(), 0.4);
  EXPECT_EQ(fit(options, 3).json()["test"], test) << "the same figures from three ranks";

  for (const int ranks : {0, 2}) {
    const json again = figures("evaluate --model model --x other_x.npy --y other_sets.npy", ranks);
    EXPECT_EQ(again["mean_average_precision"], test["mean_average_precision"]);
    EXPECT_EQ(again["per_class_support"], test["per_class_support"]);
  }
  expect_refused("evaluate --model model --x x.npy --y sets.npy --train-y sets.npy", 2,
                 "minority accuracy is about rows of one class");
}

TEST_F(LabelSets, TheChosenAlphaHasItsOwnThreshold) {
  const json report = fit(of_sets_ + "--non-private --method ls --alpha 2 --choose --report report").json();
  double alpha = 0.0;
  const std::string setting = report["choice"]["setting"];
  ASSERT_EQ(std::sscanf(setting.c_str(), "alpha %lf", &alpha), 1) << setting;
  EXPECT_EQ(report["choice"]["candidates"], 12);
  EXPECT_DOUBLE_EQ(load_classifier(folder_ / "model").parts().threshold.value(), 0.5 / (0.5 + alpha));
}

// What is kept is the best of all candidates by hits, of which `--iterate` names two.
TEST_F(LabelSets, ValidationRowsMayHaveAnyNumberOfLabels) {
  for (std::size_t c = 0; c < kClasses; ++c) sets_[5 * kClasses + c] = 1;
  write_sets("crowded.npy", sets_);
  const auto hit_rate = [&](const std::string& further) {
    return fit(of_sets_ + "--mu 3 --seed 5 --method gd --rounds 8 --test-x other_x.npy --test-y crowded.npy " + further)
        .json()["test"]["hit_rate"]
        .get<double>();
  };
  const double chosen = hit_rate("--choose --validation-x other_x.npy --validation-y crowded.npy");
  EXPECT_GE(chosen, hit_rate("--iterate last"));
  EXPECT_GE(chosen, hit_rate("--iterate average"));
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
  const auto sensitivity = [&](const std::string& options) {
    const json plan = fit(options + " --mu 1 --method mean --dry-run").json();
    return plan.at("privacy").at("releases").at(0).at("sensitivity").get<double>();
  };
  const double one = sensitivity("--train-y y.npy");
  EXPECT_NEAR(sensitivity("--train-y sets.npy --max-labels 3"), std::sqrt(3.0) * one, 1e-9 * one);
}

TEST_F(LabelSets, InspectTellsHowManyLabelsRowsHave) {
  const json told = figures("inspect --x x.npy --y sets.npy --classes 4", 2);
  std::vector<std::uint64_t> by_number(3, 0);
  std::vector<std::uint64_t> by_class(kClasses, 0);
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    std::size_t number = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      number += sets_[row * kClasses + c];
      by_class[c] += sets_[row * kClasses + c];
    }
    ++by_number[number];
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
  EXPECT_GT(figures["hit_rate"].get<double>(), 0.9);
  EXPECT_EQ(figures["top_k"], 2);
  EXPECT_GT(figures["recall_at_k"].get<double>(), 0.8);
  EXPECT_GT(figures["precision_at_k"].get<double>(), 0.6) << "of two guesses a row, where a half has one class";
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
        std::pair{"predict --model model --x x.npy --top-k 5", "--top-k 5: must be at most 4"},
        std::pair{"evaluate --model model --x x.npy --y sets.npy --top-k 5", "--top-k 5: must be at most 4"},
        std::pair{"evaluate --model model --x x.npy --y y.npy --top-k 2", "--top-k: --y has one class index a row"},
        std::pair{"evaluate --model model --x x.npy --y y.npy --threshold 2",
                  "--threshold: --y has one class index a row"}}) {
    expect_refused(command, 2, said);
  }
  const ProgramRun run = succeed("evaluate --model model --x x.npy --y sets.npy --threshold 0.2 --top-k 2");
  EXPECT_THAT(run.out, AllOf(HasSubstr("precision at 2"), HasSubstr("micro F1"))) << "at the threshold that was given";
}

}  // namespace dpreduce::label_sets_test
