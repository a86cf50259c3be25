// Accuracies of `fit --non-private` against others', on rows that `synth` makes anew: what the integer lattice costs
// beside the same solvers in double precision, and how far scikit-learn is. tests/data/reference/accuracies.py made the
// numbers; 20,000 test rows of the distribution of the training rows, so that 0.1 point are 20 rows.
#include "common/randomness/signing_key.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::accuracy_test {

constexpr double kLatticeCost = 0.001;
constexpr double kBesideScikitLearn = 0.003;

json data_sets() {
  std::ifstream file(DPREDUCE_TEST_DATA "/reference/accuracies.json");
  return json::parse(file);
}

// One data set, made once.
class AccuracyTest : public ProgramTest, public testing::WithParamInterface<std::size_t> {
 protected:
  void SetUp() override {
    reference_ = data_sets().at(GetParam());
    const ProgramRun synth = run("synth --out . " + reference_.at("synth").get<std::string>());
    ASSERT_EQ(synth.exit_code, 0) << synth.err;
    std::string rows;
    for (const int shard : {0, 1, 2}) {
      for (const char* kind : {"x", "y"}) rows += bytes(fmt::format("train_{}_{}.npy", kind, shard));
    }
    ASSERT_EQ(to_hex(sha256(rows)), reference_.at("sha256").get<std::string>())
        << "these are not the rows that the numbers are of";
  }

  double accuracy(const std::string& options) const {
    const ProgramRun fit = run(fmt::format(
        "fit --non-private --threads 1 --format json --train-x train_x_0.npy --train-y train_y_0.npy --test-x "
        "train_x_1.npy train_x_2.npy --test-y train_y_1.npy train_y_2.npy --classes {} {}",
        reference_.at("classes").get<int>(), options));
    EXPECT_EQ(fit.exit_code, 0) << fit.err;
    return fit.json().at("test").at("accuracy").get<double>();
  }

  double of_scikit_learn(const std::string& model) const {
    return reference_.at("scikit_learn").at(model).get<double>();
  }

  json reference_;
};

TEST_P(AccuracyTest, TheLatticeCostsNoMoreThanATenthOfAPoint) {
  for (const json& solver : reference_.at("without_lattice")) {
    const auto options = solver.at("options").get<std::string>();
    EXPECT_NEAR(accuracy(options), solver.at("accuracy").get<double>(), kLatticeCost) << options;
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
  for (const std::string options :
       {"--method gd", "--method newton", "--method adam --rounds 200", "--method fc --rounds 100"}) {
    EXPECT_NEAR(accuracy(options), of_scikit_learn("logistic"), kBesideScikitLearn) << options;
  }
}

INSTANTIATE_TEST_SUITE_P(OfDataSets, AccuracyTest, testing::Range<std::size_t>(0, 3),
                         [](const testing::TestParamInfo<std::size_t>& instance) {
                           return data_sets().at(instance.param).at("name").get<std::string>();
                         });

}  // namespace dpreduce::accuracy_test
