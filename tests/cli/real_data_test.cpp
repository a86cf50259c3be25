// The main job on real features: Fashion-MNIST by wavelet scattering, four ranks.
#include <cstdlib>

#include "tests/cli/program_test.hpp"

namespace dpreduce::real_data_test {

const std::string kFeatures = DPREDUCE_REAL_DATA "/features";

// Into the folder $1: the first 20,000 training and 5,000 test images of all 70,000. Each file is a magic number, a
// count and what follows both.
const std::string kTakeImages = R"(
  take() { (printf "$2"; zcat "/usr/share/datasets/fashion-mnist/$1" | tail -c +9 | head -c "$3") | gzip -1 > "$1"; }
  mkdir -p "$1" && cd "$1" &&
  take train-images-idx3-ubyte.gz '\0\0\010\003\0\0\116\040' $((8 + 784 * 20000)) &&
  take train-labels-idx1-ubyte.gz '\0\0\010\001\0\0\116\040' 20000 &&
  take t10k-images-idx3-ubyte.gz '\0\0\010\003\0\0\023\210' $((8 + 784 * 5000)) &&
  take t10k-labels-idx1-ubyte.gz '\0\0\010\001\0\0\023\210' 5000)";

// Encodes the images once a build folder; a complete set is kept.
class RealData : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string images = DPREDUCE_REAL_DATA "/images";
    ASSERT_EQ(std::system(("set -- '" + images + "'" + kTakeImages).c_str()), 0);
    const std::string encode =
        fmt::format("'{}' --shards 2 --dataset '{}' '{}' >/dev/null", DPREDUCE_ENCODER, images, kFeatures);
    ASSERT_EQ(std::system(encode.c_str()), 0);
  }
  double accuracy(const std::string& options) const {
    const ProgramRun run =
        run_program(joined({"fit", "--train-x", kFeatures + "/train_x_*.npy", "--train-y", kFeatures + "/train_y_*.npy",
                            "--test-x", kFeatures + "/test_x.npy", "--test-y", kFeatures + "/test_y.npy", "--classes",
                            "10", "--format", "json"},
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
