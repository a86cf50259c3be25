// Descent with an adaptive bound on residuals, against plain loops over the same rows (reference_fit.hpp).

#include "tests/methods/method_fixture.hpp"
#include "tests/testing.hpp"

namespace dpreduce::global_adapt_test {

class GlobalAdaptTest : public MethodTest {};

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
  ReleaseTerms terms{.classes = kClasses, .dim = kInputDim};
  const ReleaseRequest request = make_method(options_of("global-adapt"))->requests(terms).front();
  EXPECT_EQ(request.name, "adaptive_gradient");
  EXPECT_EQ(request.rounds, 300U);
  ASSERT_EQ(request.blocks.size(), 2U);
  EXPECT_EQ(request.blocks[0].name, "gradient");
  EXPECT_EQ(request.blocks[1].name, "sides");
}

}  // namespace dpreduce::global_adapt_test
