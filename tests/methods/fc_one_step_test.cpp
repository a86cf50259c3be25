// One step from equal scores, against its own equation: (W_1 - W_0) (G + ridge I) = -g, by plain loops over the rows.

#include "fit/resolved_fit.hpp"
#include "tests/methods/method_fixture.hpp"

namespace dpreduce::fc_one_step_test {

class FcOneStepTest : public MethodTest {
 protected:
  // The largest entry of (W_1 - W_0) (G + ridge I) + g, over that of g.
  double error_of_equation(double ridge) const {
    const LinearScores scores = fit(options_);
    const RowTransform transform(trained_on());
    std::vector<double> row(kInputDim + 1);
    const double p = 1.0 / (1.0 + std::exp(10.0));
    double error = 0.0;
    double size = 0.0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      std::vector<double> moved;  // W_1 - W_0
      for (std::size_t a = 0; a < kInputDim; ++a) {
        moved.push_back(scores.weights[c * kInputDim + a] / std::sqrt(1.0 - kIntercept));
      }
      moved.push_back((scores.bias[c] + 10.0) / (std::sqrt(kIntercept) * kClipNorm));
      std::vector<double> left(row.size());
      std::vector<double> gradient(row.size());
      for (std::size_t i = 0; i < kRows; ++i) {
        transform(std::span(x_).subspan(i * kInputDim, kInputDim), row);
        const double score = std::inner_product(row.begin(), row.end(), moved.begin(), 0.0);
        const double residual = p - (y_[i] == static_cast<std::int32_t>(c) ? 1.0 : 0.0);
        for (std::size_t a = 0; a < row.size(); ++a) left[a] += score * row[a], gradient[a] += residual * row[a];
      }
      for (std::size_t a = 0; a < row.size(); ++a) {
        error = std::max(error, std::abs(left[a] + ridge * moved[a] + gradient[a]));
        size = std::max(size, std::abs(gradient[a]));
      }
    }
    return error / size;
  }

  FitOptions options_ = options_of("fc-one-step");
};

// Rows and residuals are rounded to 15 bits.
TEST_F(FcOneStepTest, WithoutNoiseItIsOneStepOfTheEquation) {
  EXPECT_LT(error_of_equation(kClipNorm * kClipNorm), 1e-4);
  EXPECT_GT(error_of_equation(1.1 * kClipNorm * kClipNorm), 5e-4) << "the ridge is not seen";
}

TEST_F(FcOneStepTest, TheUsersRidgeIsTaken) {
  options_.method.lambda = 70.0;
  EXPECT_LT(error_of_equation(70.0), 1e-4);
}

TEST_F(FcOneStepTest, EachReleaseGetsHalfOfTheBudget) {
  options_.privacy.budget = {{.mu = 2.0}};
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    options_.privacy.adjacency = adjacency;
    const NoisePlan noise = *make_fit_plan(options_, kInputDim).noise;
    EXPECT_THAT(names_of(noise.releases), ElementsAre("gram", "gradient"));
    for (const PlannedRelease& release : noise.releases) {
      EXPECT_EQ(release.rounds, 1U);
      EXPECT_NEAR(release.mu, std::sqrt(2.0), 1e-9) << release.name;
    }
  }
}

}  // namespace dpreduce::fc_one_step_test
