// Adam against plain loops over the same rows (reference_fit.hpp).
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/methods/method_fixture.hpp"

namespace dpreduce {
namespace {

class AdamTest : public MethodTest {};

// Rows, W and residuals are rounded to the same lattices on both sides; what is left is the order of summation, an
// exponential's last bits, and a residual that falls to the other side of a half: 1 / S of one row.
TEST_F(AdamTest, FitsWithoutNoiseAreThoseOfPlainLoops) {
  for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid, Loss::kSquare}) {
    for (const Iterate iterate : {Iterate::kLast, Iterate::kAverage}) {
      FitOptions options = options_of("adam");
      options.method.loss = loss;
      options.method.iterate = iterate;
      options.method.rounds = 4;
      EXPECT_LE(error_of_rounds(options), 1e-6) << to_string(loss) << " " << to_string(iterate);
    }
  }
}

TEST_F(AdamTest, TheStatedStepIsTaken) {
  FitOptions options = options_of("adam");
  options.method.rounds = 2;
  options.method.learning_rate = 0.05;
  EXPECT_LE(error_of_rounds(options), 1e-6);
}

TEST_F(AdamTest, ReleasesGradientsAndWhereItStartsWarmClassMeans) {
  FitOptions options = options_of("adam");
  expect_shares(options, {{"gradient", 1.0}});
  options.method.warm_start = true;
  options.method.warm_start_share = 0.25;
  expect_shares(options, {{"class_means", 0.25}, {"gradient", 0.75}});
}

TEST_F(AdamTest, SettingsNameWhatWasGiven) {
  FitOptions options = options_of("adam");
  const nlohmann::json usual{{"rounds", 150}, {"loss", "softmax"}, {"iterate", "last"}, {"intercept", 0.1}};
  EXPECT_EQ(settings_of(options), usual);
  options.method.learning_rate = 0.5;
  options.method.loss = Loss::kSigmoid;
  nlohmann::json given = usual;
  given.update({{"loss", "sigmoid"}, {"learning_rate", 0.5}});
  EXPECT_EQ(settings_of(options), given);
}

}  // namespace
}  // namespace dpreduce
