// Both forms of least squares, against normal equations by plain loops and Gaussian elimination.

#include <nlohmann/json.hpp>

#include "fit/resolved_fit.hpp"
#include "tests/elimination.hpp"
#include "tests/methods/method_fixture.hpp"
#include "tests/testing.hpp"

namespace dpreduce::ls_test {

class LsTest : public MethodTest {
 protected:
  static constexpr double kTolerance = 1e-3;  // of rows that are rounded to 15 bits

  static double weight(std::int32_t of_row, std::size_t c) {
    return of_row == static_cast<std::int32_t>(c) ? 1.0 : 0.0;
  }

  // The largest difference from theta_c = (sum_i w_ic x_i x_i^T + ridge I)^-1 sum_{i : y_i = c} x_i, over the largest
  // entry.
  template <typename Weights>
  double error_of(const LinearScores& scores, const Weights& weights, double ridge) const {
    double error = 0.0;
    double largest = 0.0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      std::vector<std::vector<double>> left(kInputDim, std::vector<double>(kInputDim, 0.0));
      std::vector<double> right(kInputDim, 0.0);
      for (std::size_t a = 0; a < kInputDim; ++a) left[a][a] = ridge;
      for (std::size_t i = 0; i < kRows; ++i) {
        const std::vector<double> row = prepared_row(x_, i);
        for (std::size_t a = 0; a < kInputDim; ++a) {
          right[a] += weight(y_[i], c) * row[a];
          for (std::size_t b = 0; b < kInputDim; ++b) left[a][b] += weights(y_[i], c) * row[a] * row[b];
        }
      }
      const std::vector<double> theta = solved_by_elimination(left, right);
      for (std::size_t a = 0; a < kInputDim; ++a) {
        error = std::max(error, std::abs(scores.weights[c * kInputDim + a] - theta[a]));
        largest = std::max(largest, std::abs(theta[a]));
      }
    }
    return error / largest;
  }
};

TEST_F(LsTest, EachClassSolvesItsOwnNormalEquations) {
  for (const double alpha : {1.0, 0.25, 4.0}) {
    FitOptions options = options_of("ls");
    if (alpha != 1.0) options.method.alpha = alpha;  // 1 without noise
    const LinearScores scores = fit(options);
    EXPECT_LE(error_of(
                  scores, [&](std::int32_t of_row, std::size_t c) { return weight(of_row, c) + alpha; },
                  (1.0 + alpha) * kClipNorm * kClipNorm),
              kTolerance)
        << alpha;
    EXPECT_NEAR(scores.threshold.value(), 0.5 / (0.5 + alpha), 1e-12);
  }
}

TEST_F(LsTest, TheUsersRidgeIsTaken) {
  FitOptions options = options_of("ls");
  options.method.lambda = 30.0;
  const LinearScores scores = fit(options);
  const auto weights = [&](std::int32_t of_row, std::size_t c) { return weight(of_row, c) + 1.0; };
  EXPECT_LE(error_of(scores, weights, 30.0), kTolerance);
  EXPECT_GT(error_of(scores, weights, 33.0), 10.0 * kTolerance) << "the ridge is not seen";
}

TEST_F(LsTest, WithASharedGramMatrixAllClassesHaveTheSameLeftSide) {
  FitOptions options = options_of("ls");
  options.method.shared_gram = true;
  EXPECT_LE(error_of(
                fit(options), [](std::int32_t, std::size_t) { return 1.0; }, kClipNorm * kClipNorm),
            kTolerance);
}

TEST_F(LsTest, TwoClassesHaveAnIntercept) {
  FitOptions options = options_of("ls");
  EXPECT_EQ(settings_of(options)["intercept"], 0.0);
  options.data.classes = 2;
  EXPECT_EQ(settings_of(options)["intercept"], 0.02);
  for (std::int32_t& label : y_) label = std::min(label, 1);
  EXPECT_NE(fit(options).bias[0], 0.0);
  EXPECT_EQ(trained_on().intercept, 0.02);
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
