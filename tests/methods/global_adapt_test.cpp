// Descent with an adaptive bound on residuals, against plain loops over the same rows (reference_fit.hpp).
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/methods/method_fixture.hpp"

namespace dpreduce {
namespace {

class GlobalAdaptTest : public MethodTest {};

// Rows, W and residuals are rounded to the same lattices on both sides; what is left is the order of summation, an
// exponential's last bits, and a residual that falls to the other side of a half: 1 / S of one row.
TEST_F(GlobalAdaptTest, FitsWithoutNoiseAreThoseOfPlainLoops) {
  for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid, Loss::kSquare}) {
    for (const Iterate iterate : {Iterate::kLast, Iterate::kAverage}) {
      FitOptions options = options_of("global-adapt");
      options.method.loss = loss;
      options.method.iterate = iterate;
      options.method.rounds = 6;
      EXPECT_LE(error_of_rounds(options), 1e-6) << to_string(loss) << " " << to_string(iterate);
    }
  }
}

// A bound of 1 is longer than every residual of a softmax at W = 0, sqrt(1 - 1 / K): the second round's is exp(-0.1),
// and only the third step can tell.
TEST_F(GlobalAdaptTest, TheBoundIsSeenOnceItIsShorterThanResiduals) {
  FitOptions adaptive = options_of("global-adapt");
  FitOptions fixed = options_of("gd");
  for (const std::uint64_t rounds : {1, 6}) {
    adaptive.method.rounds = rounds;
    fixed.method.rounds = rounds;
    const LinearScores scores = fit(adaptive);
    const LinearScores of_gd = fit(fixed);
    double change = 0.0;
    for (std::size_t e = 0; e < scores.weights.size(); ++e) {
      change = std::max(change, std::abs(scores.weights[e] - of_gd.weights[e]));
    }
    EXPECT_EQ(change > 1e-3 * std::sqrt(squared_norm(scores.weights)), rounds > 1) << rounds;
  }
}

TEST_F(GlobalAdaptTest, ReleasesGradientsWithTheCountsThatTheBoundFollows) {
  expect_shares(options_of("global-adapt"), {{"adaptive_gradient", 1.0}});
  ReleaseTerms terms;
  terms.classes = kClasses;
  terms.dim = kInputDim;
  const ReleaseRequest request = make_method(options_of("global-adapt"))->requests(terms).front();
  EXPECT_EQ(request.rounds, 300U);
  ASSERT_EQ(request.blocks.size(), 2U);
  EXPECT_EQ(request.blocks[0].name, "gradient");
  EXPECT_EQ(request.blocks[1].name, "sides");
}

TEST_F(GlobalAdaptTest, SettingsAreThoseOfRounds) {
  EXPECT_EQ(settings_of(options_of("global-adapt")),
            nlohmann::json({{"rounds", 300}, {"loss", "softmax"}, {"iterate", "last"}, {"intercept", 0.1}}));
}

}  // namespace
}  // namespace dpreduce
