// Methods that train by rounds, in what they have in common. tests/cli/reference_test.cpp checks their equations but
// for a bound that adapts.

#include <nlohmann/json.hpp>

#include "fit/resolved_fit.hpp"
#include "tests/methods/method_fixture.hpp"
#include "tests/methods/reference_fit.hpp"

namespace dpreduce::rounds_test {

constexpr Loss kLosses[] = {Loss::kSoftmax, Loss::kSigmoid, Loss::kSquare};

class RoundsTest : public MethodTest {};

std::vector<double> weights_and_biases(LinearScores scores) {
  scores.weights.insert(scores.weights.end(), scores.bias.begin(), scores.bias.end());
  return std::move(scores.weights);
}

// Rows, W and residuals are rounded to the same lattices on both sides; what is left is the order of summation, an
// exponential's last bits, and a residual that falls to the other side of a half: 1 / S of one row.
TEST_F(RoundsTest, ABoundThatAdaptsIsThatOfPlainLoops) {
  for (const Loss loss : kLosses) {
    FitOptions options = options_of("global-adapt");
    options.method.loss = loss;
    options.method.rounds = 6;
    const LinearScores scores = fit(options);
    const LinearScores expected = fold_intercept(
        reference_fit(reference_rows(trained_on(), x_, y_, kClasses), options, kIntercept), trained_on());
    const double size = largest_difference(expected.weights, std::vector(expected.weights.size(), 0.0));
    EXPECT_LE(largest_difference(scores.weights, expected.weights), 1e-6 * size) << to_string(loss);
    EXPECT_LE(largest_difference(scores.bias, expected.bias), 1e-6 * size) << to_string(loss);
  }
}

TEST_F(RoundsTest, AnAverageIsThatOfTheModelsAfterEachRound) {
  for (const std::string method : {"gd", "adam", "fc", "global-adapt", "newton"}) {
    for (const Loss loss : kLosses) {
      if (loss == Loss::kSquare && method == "newton") continue;  // refused
      FitOptions options = options_of(method);
      options.method.loss = loss;
      std::vector<double> mean(kClasses * (kInputDim + 1), 0.0);  // of weights and biases
      for (options.method.rounds = 1; *options.method.rounds <= 3; ++*options.method.rounds) {
        const std::vector<double> last = weights_and_biases(fit(options));
        for (std::size_t e = 0; e < mean.size(); ++e) mean[e] += last[e] / 3.0;
      }
      options.method.rounds = 3;
      options.method.iterate = Iterate::kAverage;
      const double size = largest_difference(mean, std::vector(mean.size(), 0.0));
      EXPECT_LE(largest_difference(weights_and_biases(fit(options)), mean), 1e-12 * size)
          << method << " " << to_string(loss);
    }
  }
}

TEST_F(RoundsTest, ResidualsAreClippedToLessWhereThereIsNoiseAndClassesAreNotBalanced) {
  FitOptions options = options_of("fc");
  EXPECT_EQ(settings_of(options)["residual_norm"], 1.0);
  options.privacy.budget = {{.epsilon = 1.0, .delta = 1e-5}};
  EXPECT_EQ(settings_of(options)["residual_norm"], 0.7);
  options.method.objective = Objective::kBalanced;
  EXPECT_EQ(settings_of(options)["residual_norm"], 1.0);
}

// One row's memory is too little to keep any: every round reads and transforms them again.
TEST_F(RoundsTest, RowsThatAreNotKeptGiveTheSameModel) {
  for (const std::string method : {"fc", "gd", "newton"}) {
    FitOptions options = options_of(method);
    options.method.rounds = 2;
    const LinearScores kept = fit(options);
    const LinearScores read_again = fit(options, 7 * (sizeof(float) * kInputDim + 2 * (kInputDim + 1) + 8));
    EXPECT_EQ(kept.weights, read_again.weights);
    EXPECT_EQ(kept.bias, read_again.bias);
  }
}

TEST_F(RoundsTest, TheClipNormIsAChoiceOfUnits) {
  for (const std::string method : {"gd", "adam", "fc", "newton"}) {
    FitOptions options = options_of(method);
    options.method.rounds = 3;
    const LinearScores scores = fit(options);
    options.rows.clip_norm = 200.0;
    const LinearScores longer = fit(options);
    for (std::size_t e = 0; e < scores.weights.size(); ++e) {
      EXPECT_NEAR(longer.weights[e] * 100.0, scores.weights[e], 1e-6 * (1.0 + std::abs(scores.weights[e])));
    }
  }
}

TEST_F(RoundsTest, WeightsOfDescentStayInTheBall) {
  FitOptions options = options_of("gd");
  options.method.rounds = 5;
  options.method.learning_rate = 0.01;
  options.method.radius = 0.25;
  const LinearScores inside = fit(options);
  double squares = squared_norm(inside.weights) / (1.0 - kIntercept);
  squares += squared_norm(inside.bias) / (kIntercept * kClipNorm * kClipNorm);
  EXPECT_NEAR(std::sqrt(squares), 0.25, 1e-9);
}

// A bound of 1 is longer than every residual of a softmax at W = 0, sqrt(1 - 1 / K): the second round's is exp(-0.1),
// and only the third step can tell.
TEST_F(RoundsTest, AnAdaptiveBoundIsSeenOnceItIsShorterThanResiduals) {
  FitOptions adaptive = options_of("global-adapt");
  FitOptions fixed = options_of("gd");
  for (const std::uint64_t rounds : {1, 6}) {
    adaptive.method.rounds = rounds;
    fixed.method.rounds = rounds;
    const LinearScores scores = fit(adaptive);
    const double change = largest_difference(scores.weights, fit(fixed).weights);
    EXPECT_EQ(change > 1e-3 * std::sqrt(squared_norm(scores.weights)), rounds > 1) << rounds;
  }
}

TEST_F(RoundsTest, AnAdaptiveBoundFollowsCountsBesideGradients) {
  ReleaseTerms terms{.classes = kClasses, .dim = kInputDim};
  const ReleaseRequest request = make_method(options_of("global-adapt"))->requests(terms).front();
  EXPECT_EQ(request.name, "adaptive_gradient");
  EXPECT_EQ(request.rounds, 300U);
  EXPECT_THAT(names_of(request.blocks), ElementsAre("gradient", "sides"));
}

}  // namespace dpreduce::rounds_test
