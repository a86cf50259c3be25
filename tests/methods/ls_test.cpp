// Both forms of least squares: what they are told to do. Their equations: tests/cli/reference_test.cpp.

#include <nlohmann/json.hpp>

#include "fit/resolved_fit.hpp"
#include "tests/methods/method_fixture.hpp"

namespace dpreduce::ls_test {

class LsTest : public MethodTest {};

TEST_F(LsTest, TwoClassesHaveAnIntercept) {
  FitOptions options = options_of("ls");
  EXPECT_EQ(settings_of(options)["intercept"], 0.0);
  options.data.classes = 2;
  EXPECT_EQ(settings_of(options)["intercept"], 0.02);
}

// Within the release the share of mu^2 that a block costs is (sensitivity / sigma)^2.
TEST_F(LsTest, TheGramMatrixGetsItsShareOfTheRelease) {
  FitOptions options = options_of("ls", 2.0);
  options.method.shared_gram = true;
  for (const double share : {0.5, 0.2}) {
    if (share != 0.5) options.method.gram_share = share;
    const NoisePlan noise = *make_fit_plan(options, kInputDim).noise;
    EXPECT_NEAR(std::pow(noise.release("least_squares").block("gram").mu, 2), 4.0 * share, 1e-6);
    EXPECT_NEAR(std::pow(noise.release("least_squares").block("class_sums").mu, 2), 4.0 * (1.0 - share), 1e-6);
  }
}

// 1 / mu, between 1 and 10.
TEST_F(LsTest, TheLessBudgetTheMoreWeightHaveAllRows) {
  EXPECT_EQ(settings_of(options_of("ls", 4.0))["alpha"], 1.0);
  EXPECT_NEAR(settings_of(options_of("ls", 0.25))["alpha"].get<double>(), 4.0, 1e-12);
  EXPECT_EQ(settings_of(options_of("ls", 0.01))["alpha"], 10.0);
}

}  // namespace dpreduce::ls_test
