// Gradient descent against plain loops over the same rows (reference_fit.hpp).
#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/methods/method_fixture.hpp"

namespace dpreduce {
namespace {

class GdTest : public MethodTest {};

// Rows, W and residuals are rounded to the same lattices on both sides; what is left is the order of summation, an
// exponential's last bits, and a residual that falls to the other side of a half: 1 / S of one row.
TEST_F(GdTest, FitsWithoutNoiseAreThoseOfPlainLoops) {
  for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid, Loss::kSquare}) {
    for (const Iterate iterate : {Iterate::kLast, Iterate::kAverage}) {
      FitOptions options = options_of("gd");
      options.method.loss = loss;
      options.method.iterate = iterate;
      options.method.rounds = 4;
      EXPECT_LE(error_of_rounds(options), 1e-6) << to_string(loss) << " " << to_string(iterate);
    }
  }
}

TEST_F(GdTest, TheStatedStepIsTaken) {
  FitOptions options = options_of("gd");
  options.method.rounds = 2;
  options.method.learning_rate = 0.01;
  EXPECT_LE(error_of_rounds(options), 1e-6);
}

TEST_F(GdTest, WeightsStayInTheBall) {
  FitOptions options = options_of("gd");
  options.method.rounds = 5;
  options.method.learning_rate = 0.01;
  options.method.radius = 0.25;
  EXPECT_LE(error_of_rounds(options), 1e-5);
  const LinearScores inside = fit(options);
  double squares = squared_norm(inside.weights) / (1.0 - kIntercept);
  squares += squared_norm(inside.bias) / (kIntercept * kClipNorm * kClipNorm);
  EXPECT_NEAR(std::sqrt(squares), 0.25, 1e-9);
}

TEST_F(GdTest, ReleasesGradientsAndWhereItStartsWarmClassMeans) {
  FitOptions options = options_of("gd");
  expect_shares(options, {{"gradient", 1.0}});
  options.method.warm_start = true;
  options.method.warm_start_share = 0.25;
  expect_shares(options, {{"class_means", 0.25}, {"gradient", 0.75}});
}

TEST_F(GdTest, SettingsNameWhatWasGiven) {
  FitOptions options = options_of("gd");
  const nlohmann::json usual{{"rounds", 300}, {"loss", "softmax"}, {"iterate", "last"}, {"intercept", 0.1}};
  EXPECT_EQ(settings_of(options), usual);
  options.method.batch = 0.8;  // as many more rounds as each sees fewer rows
  options.method.learning_rate = 0.5;
  options.method.radius = 3.0;
  nlohmann::json given = usual;
  given.update({{"rounds", 375}, {"batch", 0.8}, {"learning_rate", 0.5}, {"radius", 3.0}});
  EXPECT_EQ(settings_of(options), given);
}

}  // namespace
}  // namespace dpreduce
