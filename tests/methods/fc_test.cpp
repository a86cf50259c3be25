// DP-FC against plain loops over the same whitened rows (reference_fit.hpp). That they are white is checked where the
// loops take their curvature (method_fixture.cpp).
#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fit/resolved_fit.hpp"
#include "tests/methods/method_fixture.hpp"

namespace dpreduce {
namespace {

class FcTest : public MethodTest {};

// Rows, W and residuals are rounded to the same lattices on both sides; what is left is the order of summation, an
// exponential's last bits, and a residual that falls to the other side of a half: 1 / S of one row.
TEST_F(FcTest, FitsWithoutNoiseAreThoseOfPlainLoops) {
  for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid, Loss::kSquare}) {
    for (const Iterate iterate : {Iterate::kLast, Iterate::kAverage}) {
      FitOptions options = options_of("fc");
      options.method.loss = loss;
      options.method.iterate = iterate;
      options.method.rounds = 4;
      EXPECT_LE(error_of_rounds(options), 1e-6) << to_string(loss) << " " << to_string(iterate);
    }
  }
}

TEST_F(FcTest, OneRoundOnSquaresIsOneStepOfTheEquation) {
  FitOptions options = options_of("fc");
  options.method.loss = Loss::kSquare;
  options.method.rounds = 1;
  EXPECT_LE(error_of_rounds(options), 1e-6);
}

TEST_F(FcTest, TheGramMatrixHasItsShareAndAWarmStartTakesFromBoth) {
  FitOptions options = options_of("fc");
  expect_shares(options, {{"gram", 0.1}, {"gradient", 0.9}});
  options.method.gram_share = 0.4;
  expect_shares(options, {{"gram", 0.4}, {"gradient", 0.6}});
  options.method.warm_start = true;
  options.method.warm_start_share = 0.25;
  expect_shares(options, {{"gram", 0.3}, {"class_means", 0.25}, {"gradient", 0.45}});  // means right before the rounds
}

TEST_F(FcTest, AWarmStartTakesItsShareOfTheBudget) {
  FitOptions options = options_of("fc", 1.0);
  options.method.warm_start = true;
  options.method.warm_start_share = 0.25;
  const NoisePlan noise = *make_fit_plan(options, kInputDim).noise;
  EXPECT_NEAR(std::pow(noise.release("class_means").mu, 2), 0.25, 1e-9);
  EXPECT_NEAR(noise.mu, 1.0, 1e-9);
}

TEST_F(FcTest, SettingsNameTheSharesAndTheRounds) {
  FitOptions options = options_of("fc");
  const nlohmann::json usual{
      {"rounds", 20}, {"loss", "softmax"}, {"iterate", "last"}, {"intercept", 0.05}, {"gram_share", 0.1}};
  EXPECT_EQ(settings_of(options), usual);
  options.method.warm_start = true;
  options.method.warm_start_share = 0.25;
  options.method.gram_share = 0.4;
  nlohmann::json given = usual;
  given.update({{"warm_start_share", 0.25}, {"gram_share", 0.4}});
  EXPECT_EQ(settings_of(options), given);
}

}  // namespace
}  // namespace dpreduce
