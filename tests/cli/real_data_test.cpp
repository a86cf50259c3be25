// The main job on real features: Fashion-MNIST by wavelet scattering, four ranks.
#include <cstdlib>

#include "tests/cli/program_test.hpp"

namespace dpreduce::real_data_test {

// Encodes the images once a build folder; a complete set is kept.
class RealData : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string command = std::string("'") + DPREDUCE_ENCODER + "' '" + DPREDUCE_FEATURES + "' >/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }

  double accuracy(const std::string& options) const {
    const std::string data = DPREDUCE_FEATURES;
    const ProgramRun run = run_program(
        joined({"fit", "--train-x", data + "/train_x_*.npy", "--train-y", data + "/train_y_*.npy", "--test-x",
                data + "/test_x.npy", "--test-y", data + "/test_y.npy", "--classes", "10", "--format", "json"},
               split_arguments(options)),
        {.folder = folder_.path(), .ranks = 4});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.json().at("test").at("accuracy").get<double>();
  }

  TemporaryFolder folder_;
};

TEST_F(RealData, AtEpsilonEightPrivacyCostsLessThanAPoint) {
  // Noise moves the accuracy by about 0.001 here: a point is far outside of chance.
  for (const std::string method : {"--method mean", "--method mean --center dp", "--method mean --metric euclidean"}) {
    const double exact = accuracy(method + " --non-private");
    const double noised = accuracy(method + " --epsilon 8 --delta 1e-6");
    EXPECT_NEAR(noised, exact, 0.01) << method;
    EXPECT_GT(exact, 0.67) << method;
  }
}

TEST_F(RealData, CenteringHelpsTheNearestDirection) {
  const std::string mean = "--method mean --epsilon 2 --delta 1e-6";
  EXPECT_GT(accuracy(mean + " --center dp"), accuracy(mean) + 0.005);
}

TEST_F(RealData, RoundsDoBetterThanOneShotAndThatBetterThanMeans) {
  const std::string budget = " --center dp --epsilon 2 --delta 1e-6";
  const double means = accuracy("--method mean" + budget);
  const double one_shot = accuracy("--method ls --shared-gram" + budget);
  EXPECT_GT(one_shot, means + 0.03);
  EXPECT_GT(accuracy("--method auto --epsilon 2 --delta 1e-6"), one_shot);
}

}  // namespace dpreduce::real_data_test
