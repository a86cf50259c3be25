// Accuracies of `fit --non-private` against others', on rows that `synth` makes anew: what the integer lattice costs
// beside the same solvers in double precision, and how far scikit-learn is. tests/data/reference/accuracies.py made the
// numbers; 20,000 test rows of the distribution of the training rows, so that 0.1 point are 20 rows.
#include "common/randomness/signing_key.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::accuracy_test {

constexpr double kLatticeCost = 0.001;
constexpr double kBesideScikitLearn = 0.003;

json data_sets() {
  return json::parse(read_bytes(DPREDUCE_TEST_DATA "/reference/accuracies.json"));
}

// One data set, made once.
class AccuracyTest : public ProgramTest, public testing::WithParamInterface<std::size_t> {
 protected:
  void SetUp() override {
    reference_ = data_sets().at(GetParam());
    succeed("synth --out . " + reference_.at("synth").get<std::string>());
    std::string rows;
    for (const int shard : {0, 1, 2}) {
      rows += bytes(fmt::format("train_x_{}.npy", shard)) + bytes(fmt::format("train_y_{}.npy", shard));
    }
    ASSERT_EQ(to_hex(sha256(rows)), reference_.at("sha256")) << "these are not the rows that the numbers are of";
  }

  double accuracy(const std::string& options) const {
    return figures(fmt::format(
        "fit --non-private --threads 1 --train-x train_x_0.npy --train-y train_y_0.npy --test-x train_x_1.npy "
        "train_x_2.npy --test-y train_y_1.npy train_y_2.npy --classes {} {}",
        reference_.at("classes").get<int>(), options))["test"]["accuracy"];
  }

  double of_scikit_learn(const std::string& model) const { return reference_.at("scikit_learn").at(model); }

  json reference_;
};

TEST_P(AccuracyTest, TheLatticeCostsNoMoreThanATenthOfAPoint) {
  for (const json& solver : reference_.at("without_lattice")) {
    const std::string options = solver.at("options");
    EXPECT_NEAR(accuracy(options), solver.at("accuracy"), kLatticeCost) << options;
  }
}

// Ridge regression has an intercept with two classes only. Of more classes, rows are centered.
TEST_P(AccuracyTest, RidgeRegressionIsAsGoodAsThatOfScikitLearn) {
  const std::string center = reference_.at("classes") == 2 ? "" : " --center dp";
  for (const std::string options : {"--method ls --shared-gram", "--method ls"}) {
    EXPECT_GE(accuracy(options + center), of_scikit_learn("ridge") - kBesideScikitLearn) << options;
  }
}

TEST_P(AccuracyTest, SoftmaxRoundsAreWithinAThirdOfAPointOfLogisticRegression) {
  for (const char* method : {"gd", "newton", "adam --rounds 200", "fc --rounds 100"}) {
    EXPECT_NEAR(accuracy(fmt::format("--method {}", method)), of_scikit_learn("logistic"), kBesideScikitLearn)
        << method;
  }
}

INSTANTIATE_TEST_SUITE_P(OfDataSets, AccuracyTest, testing::Range<std::size_t>(0, 3),
                         [](const auto& set) -> std::string { return data_sets().at(set.param).at("name"); });

}  // namespace dpreduce::accuracy_test
