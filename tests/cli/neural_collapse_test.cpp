// [wang2024], Figure 3 (a): one step of noisy descent from zero weights on collapsed
// classes, K = 10, (1, 1e-4)-DP, with 100 to 2,000 features.
//
// Without perturbations the step is exact for every d: noise has d coordinates, but a row's score sees one direction of
// them. An offset v of all training rows costs more the larger d is, where classes are of unequal size, with and
// without noise: rows of norm sqrt(1 + d / 100) are scaled to 1, which shortens class means beside the intercept, where
// class sizes are. (Without an intercept v has to point at a class, as in section 3.2.2 there, to do harm: its
// random signs have no more to do with a class the larger d is.) A worst-case shift of test rows wins with enough
// features. Noise of standard deviation 0.1 on rows costs something under privacy alone: scores then see the noise of
// all coordinates, 0.1 sigma sqrt(d), beside the n / K rows of a class. At 1,000 rows a class and exactly calibrated
// noise (sigma = 3.2) that is nothing yet, at 50 it is the figure's trend.
//
// Data and noise are seeded: the same figures in every run.
#include "tests/cli/program_test.hpp"
#include "tests/slow_tests.hpp"

namespace dpreduce::neural_collapse_test {

const std::string kPrivate = "--epsilon 1 --delta 1e-4 --seed 1";
const std::string kExact = "--non-private";

class NeuralCollapse : public ProgramTest {
 protected:
  // Accuracy of one step, for each dimension; one column for each set of options.
  std::vector<std::vector<double>> after_one_step(int rows, const std::string& perturbations,
                                                  const std::vector<std::string>& options) const {
    std::vector<std::vector<double>> accuracies(options.size());
    for (const int dim : runs_slow_tests() ? std::vector{100, 500, 1000, 2000} : std::vector{100, 1000}) {
      succeed(fmt::format("synth --out . --rows {} --test-rows 1000 --dim {} --classes 10 --seed 1 {}", rows, dim,
                          perturbations));
      for (std::size_t column = 0; column < options.size(); ++column) {
        accuracies[column].push_back(figures(fmt::format(
            "fit --method gd --rounds 1 --threads 1 --train-x train_x.npy --train-y train_y.npy --test-x test_x.npy "
            "--test-y test_y.npy --classes 10 --out {0} --ledger {0}.jsonl {1}",
            column, options[column]))["test"]["accuracy"]);
      }
    }
    return accuracies;
  }
  // With noise alone.
  std::vector<double> after_one_step(int rows, const std::string& perturbations) const {
    return after_one_step(rows, perturbations, {kPrivate}).front();
  }
};

void expect_exact(const std::vector<double>& accuracies) {
  EXPECT_THAT(accuracies, testing::Each(1.0));
}

// From `at_first` or more down to `in_the_end` or less, never up by more than half a point.
void expect_fall(const std::vector<double>& accuracies, double at_first, double in_the_end) {
  EXPECT_GE(accuracies.front(), at_first);
  EXPECT_LE(accuracies.back(), in_the_end);
  for (std::size_t step = 1; step < accuracies.size(); ++step) {
    EXPECT_LE(accuracies[step], accuracies[step - 1] + 0.005);
  }
}

TEST_F(NeuralCollapse, OneStepIsExactForEveryNumberOfFeatures) {
  for (const int rows : {10'000, 500}) expect_exact(after_one_step(rows, ""));
}

TEST_F(NeuralCollapse, AnOffsetOrImbalanceAloneDoesNotMatter) {
  for (const char* alone : {"--imbalance-ratio 10", "--offset 0.1"}) expect_exact(after_one_step(10'000, alone));
}

TEST_F(NeuralCollapse, AnOffsetWithImbalanceCostsMoreTheMoreFeaturesAndCenteringHelps) {
  const auto accuracies =
      after_one_step(10'000, "--offset 0.1 --imbalance-ratio 10", {kPrivate, kPrivate + " --center dp"});
  expect_fall(accuracies[0], 1.0, 0.85);
  for (std::size_t step = 1; step < accuracies[0].size(); ++step) {
    EXPECT_GE(accuracies[1][step], accuracies[0][step] + 0.05);
  }
}

TEST_F(NeuralCollapse, AWorstCaseShiftOfTestRowsWinsWithEnoughFeatures) {
  expect_fall(after_one_step(10'000, "--adversarial 0.05"), 1.0, 0.1);
}

TEST_F(NeuralCollapse, NoiseOnRowsCostsMoreTheMoreFeaturesAndOnlyUnderPrivacy) {
  const auto tested = after_one_step(500, "--test-stochastic 0.1", {kPrivate, kExact});
  const auto both = after_one_step(500, "--stochastic 0.1 --test-stochastic 0.1", {kPrivate, kExact});
  for (const auto& accuracies : {tested[1], both[1]}) expect_exact(accuracies);
  expect_fall(tested[0], 1.0, 0.998);
  expect_fall(both[0], 0.98, 0.7);
  for (std::size_t step = 1; step < both[0].size(); ++step) EXPECT_LT(both[0][step], tested[0][step]);
}

}  // namespace dpreduce::neural_collapse_test
