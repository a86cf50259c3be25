// One step from equal scores, against its own equation: (W_1 - W_0) (G + ridge I) = -g, by plain loops over the rows.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/lattice/row_transform.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/training_method.hpp"
#include "tests/common/data/data_files.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kRowsOfStep = 300;
constexpr std::size_t kFeatures = 5;
constexpr std::size_t kClassesOfStep = 3;
constexpr double kNorm = 2.0;
constexpr double kInterceptOfStep = 0.1;

class FcOneStepTest : public testing::Test {
 protected:
  FcOneStepTest() : x_(kRowsOfStep * kFeatures), y_(kRowsOfStep) {
    std::mt19937 engine(7);
    std::normal_distribution<float> normal;
    for (float& entry : x_) entry = normal(engine);
    for (std::size_t i = 0; i < kRowsOfStep; ++i) {
      y_[i] = static_cast<std::int32_t>(i % 7 % kClassesOfStep);  // of unequal size
      x_[i * kFeatures + static_cast<std::size_t>(y_[i])] += 2.0F;
    }
    const std::string n = std::to_string(kRowsOfStep);
    write_bytes(folder_ / "x.npy", npy_header_bytes(npy_text("<f4", "(" + n + ", " + std::to_string(kFeatures) + ")")) +
                                       element_bytes(x_));
    write_bytes(folder_ / "y.npy", npy_header_bytes(npy_text("<i4", "(" + n + ",)")) + element_bytes(y_));
    options_.data.classes = kClassesOfStep;
    options_.method.name = "fc-one-step";
    options_.rows.clip_norm = kNorm;
    options_.rows.center = Centering::kNone;
    options_.privacy.budget.non_private = true;
    options_.machine.memory_mib = 16;
  }

  // The largest entry of (W_1 - W_0) (G + ridge I) + g, over that of g.
  double error_of_equation(double ridge) {
    Communicator alone = Communicator::join();
    const FitPlan plan = make_fit_plan(options_, kFeatures);
    Releaser releaser(alone);
    WorkerRows rows = WorkerRows::open({folder_ / "x.npy"}, {folder_ / "y.npy"}, 0, 1);
    Timings timings;
    TrainingRun run(
        alone, rows, releaser, plan, {kClassesOfStep, BadRows::kFail, std::size_t{1} << 20, 1},
        [](std::string_view) -> OnChunk { return [](double) {}; }, timings);
    const LinearScores scores = make_method(options_)->train(run);

    constexpr std::size_t kDim = kFeatures + 1;
    const RowTransform transform(run.rows().preprocessing());
    std::vector<double> row(kDim);
    std::vector<double> moved(kClassesOfStep * kDim);  // W_1 - W_0
    const double coordinate = std::sqrt(kInterceptOfStep) * kNorm;
    for (std::size_t c = 0; c < kClassesOfStep; ++c) {
      for (std::size_t a = 0; a < kFeatures; ++a) {
        moved[c * kDim + a] = scores.weights[c * kFeatures + a] / std::sqrt(1.0 - kInterceptOfStep);
      }
      moved[c * kDim + kFeatures] = (scores.bias[c] + 10.0) / coordinate;
    }
    std::vector<double> left(moved.size());
    for (std::size_t e = 0; e < left.size(); ++e) left[e] = ridge * moved[e];
    std::vector<double> gradient(moved.size());
    const double p = 1.0 / (1.0 + std::exp(10.0));
    for (std::size_t i = 0; i < kRowsOfStep; ++i) {
      transform(std::span(x_).subspan(i * kFeatures, kFeatures), row);
      for (std::size_t c = 0; c < kClassesOfStep; ++c) {
        double score = 0.0;
        for (std::size_t a = 0; a < kDim; ++a) score += moved[c * kDim + a] * row[a];
        const double residual = p - (y_[i] == static_cast<std::int32_t>(c) ? 1.0 : 0.0);
        for (std::size_t a = 0; a < kDim; ++a) {
          left[c * kDim + a] += score * row[a];
          gradient[c * kDim + a] += residual * row[a];
        }
      }
    }
    double error = 0.0;
    double size = 0.0;
    for (std::size_t e = 0; e < left.size(); ++e) {
      error = std::max(error, std::abs(left[e] + gradient[e]));
      size = std::max(size, std::abs(gradient[e]));
    }
    return error / size;
  }

  const TemporaryFolder folder_;
  std::vector<float> x_;
  std::vector<std::int32_t> y_;
  FitOptions options_;
};

// Rows and residuals are rounded to 15 bits.
TEST_F(FcOneStepTest, WithoutNoiseItIsOneStepOfTheEquation) {
  EXPECT_LT(error_of_equation(kNorm * kNorm), 2e-4);
  EXPECT_GT(error_of_equation(1.1 * kNorm * kNorm), 1e-3) << "the ridge is not seen";
}

TEST_F(FcOneStepTest, TheUsersRidgeIsTaken) {
  options_.method.lambda = 70.0;
  EXPECT_LT(error_of_equation(70.0), 2e-4);
}

TEST_F(FcOneStepTest, EachReleaseGetsHalfOfTheBudget) {
  options_.privacy.budget.non_private = false;
  options_.privacy.budget.mu = 2.0;
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    options_.privacy.adjacency = adjacency;
    const NoisePlan noise = *make_fit_plan(options_, kFeatures).noise;
    ASSERT_EQ(noise.releases.size(), 2U);
    EXPECT_EQ(noise.releases[0].name, "gram");
    EXPECT_EQ(noise.releases[1].name, "gradient");
    for (const PlannedRelease& release : noise.releases) {
      EXPECT_EQ(release.rounds, 1U);
      EXPECT_NEAR(release.mu, std::sqrt(2.0), 1e-9) << release.name;
    }
  }
}

}  // namespace
}  // namespace dpreduce
