#include "common/accounting/composed_loss.hpp"

#include "tests/common/accounting/hockey_stick.hpp"
#include "tests/testing.hpp"

namespace dpreduce::composed_loss_test {

LossWindow wide_window(double tilt) {
  return {tilt, 0, -40, 40, 1, 1};
}

// Binomial sums of randomized response, exactly.
double repeated_response_delta(double range, int count, double epsilon) {
  double delta = 0;
  for (int up = 0; up <= count; ++up) {
    const double loss = (2 * up - count) * range;
    if (loss <= epsilon) continue;
    const double log_mass = std::lgamma(count + 1) - std::lgamma(up + 1) - std::lgamma(count - up + 1) -
                            up * std::log1p(std::exp(-range)) - (count - up) * std::log1p(std::exp(range));
    delta += std::exp(log_mass) * -std::expm1(epsilon - loss);
  }
  return delta;
}

std::vector<RepeatedGrid> responses(double range, double step, std::uint64_t count) {
  const LossLaw law = pessimistic_law(PureMechanism{range}, Direction::kRemove, 1e-18);
  return {{pessimistic_grid(law, loss_cells(law, step)), count}};
}

TEST(ComposedLoss, RandomizedResponseIsBinomial) {
  const std::vector<RepeatedGrid> parts = responses(0.5, 0.125, 20);
  for (const double tilt : {0.0, 0.5, 1.0, 2.0}) {
    const ComposedLoss upper(parts, wide_window(tilt), Side::kUpper);
    const ComposedLoss lower(parts, wide_window(tilt), Side::kLower);
    for (const double epsilon : {0.0, 0.3, 1.0, 2.6, 6.9, 9.9}) {
      SCOPED_TRACE(testing::Message() << tilt << " " << epsilon);
      const double exact = repeated_response_delta(0.5, 20, epsilon);
      EXPECT_GE(upper.epsilon_at(exact * (1 - 1e-12)), epsilon - 1e-9);
      EXPECT_LE(lower.epsilon_at(exact * (1 + 1e-10)), epsilon + 1e-9);  // the grid's masses are rounded up
      EXPECT_LE(upper.epsilon_at(exact * (1 + 1e-9) + 1e-7), epsilon + 1e-9);
      if (exact > 2e-7) {
        EXPECT_GE(lower.epsilon_at(exact * (1 - 1e-9) - 1e-7), epsilon - 1e-9);
      }
    }
    for (const double delta : {1e-7, 1e-4, 0.01, 0.3}) EXPECT_LE(lower.epsilon_at(delta), upper.epsilon_at(delta));
    EXPECT_EQ(upper.epsilon_at(0.999), 0);
  }
}

// A window that is too narrow folds the law: bounds get wide, never wrong.
TEST(ComposedLoss, NarrowWindowsStayTrue) {
  const std::vector<RepeatedGrid> parts = responses(0.5, 0.125, 20);
  for (const double half : {1.0, 3.0, 6.0}) {
    const LossWindow window{0, 0, -half, half, 0.7, 0.7};
    const ComposedLoss upper(parts, window, Side::kUpper);
    const ComposedLoss lower(parts, window, Side::kLower);
    for (const double epsilon : {0.0, 0.9, 2.5, 5.0}) {
      const double exact = repeated_response_delta(0.5, 20, epsilon);
      EXPECT_GE(upper.epsilon_at(exact * (1 - 1e-12)), epsilon - 1e-9);
      EXPECT_LE(lower.epsilon_at(exact * (1 + 1e-12)), epsilon + 1e-9);
    }
  }
}

TEST(ComposedLoss, InfiniteMassAddsUp) {
  LossGrid grid;
  grid.step = 1;
  grid.mass = {0.99};
  grid.infinite_mass = 0.01;
  const std::vector<RepeatedGrid> parts{{grid, 3}};
  const ComposedLoss upper(parts, wide_window(0), Side::kUpper);
  EXPECT_LE(upper.epsilon_at(0.03 + 1e-9), 5);
  EXPECT_TRUE(std::isinf(upper.epsilon_at(0.02)));
  EXPECT_EQ(upper.epsilon_at(0.1), 0);
}

// Beyond the sum of all largest losses nothing is left, wherever the window lies; grids of another step are refused.
TEST(ComposedLoss, LargestLossBoundsEpsilonAndGridsHaveOneStep) {
  std::vector<RepeatedGrid> parts = responses(0.5, 0.5, 4);
  const LossWindow window{0, 0, -0.5, 0.5, 1, 1};
  EXPECT_NEAR(ComposedLoss(parts, window, Side::kUpper).epsilon_at(1e-12), 2, 1e-9);
  parts.push_back(responses(0.5, 0.25, 4)[0]);
  EXPECT_ANY_THROW(ComposedLoss(parts, wide_window(0), Side::kUpper));
}

std::vector<LossSketch> gaussian_losses(double z, std::uint64_t count) {
  std::vector<LossSketch> losses;
  losses.emplace_back(pessimistic_law(GaussianMechanism{z}, Direction::kRemove, 1e-18), count);
  return losses;
}

// A Gaussian's loss is N(mu^2/2, mu^2): K(theta) = count mu^2 (theta + theta^2) / 2.
TEST(LossSketch, MomentsOfAGaussianAreKnownAndItsReachSpansTheRange) {
  const std::vector<LossSketch> losses = gaussian_losses(2, 50);
  for (const double theta : {0.5, 1.0, 4.0}) {
    const double k = 50 * 0.25 * (theta + theta * theta) / 2;
    EXPECT_NEAR(log_moment(losses, theta), k, 1e-3 * k);
    EXPECT_NEAR(losses[0].mean(theta), 50 * 0.25 * (0.5 + theta), 0.05);
  }
  const std::vector<LossSketch> one = gaussian_losses(1, 1);
  EXPECT_NEAR(one[0].reach(0, 1) + one[0].reach(0, -1), one[0].range(), 1e-12);
  EXPECT_LT(one[0].reach(3, 1), one[0].reach(0, 1));
}

// Tilted by theta it is N(mu^2 (theta + 1/2), mu^2): the tilt for epsilon centers it there, nearly.
TEST(LossWindow, TiltMovesTheMeanToEpsilon) {
  const std::vector<LossSketch> losses = gaussian_losses(2, 50);
  for (const double epsilon : {12.0, 20.0, 40.0}) {
    const LossWindow window = window_around(losses, tilt_for_epsilon(losses, epsilon));
    EXPECT_NEAR(window.center, epsilon, 1.5);
    EXPECT_LT(window.low, window.center);
    EXPECT_GT(window.high, window.center);
    // sqrt(2 * 26) standard deviations, each sqrt(50)/2.
    EXPECT_NEAR(window.high - window.center, std::sqrt(52.0) * std::sqrt(12.5), 1);
  }
}

TEST(LossWindow, TiltForDeltaAndForEpsilonAgree) {
  const std::vector<LossSketch> losses = gaussian_losses(1, 10);
  const double tilt = tilt_for_delta(losses, 1e-6);
  const double epsilon = epsilon_of_moment(log_moment(losses, tilt), tilt, 1e-6);
  EXPECT_NEAR(tilt_for_epsilon(losses, epsilon), tilt, 1e-3 * tilt);
  EXPECT_NEAR(log_delta_of_moment(log_moment(losses, tilt), tilt, epsilon), std::log(1e-6), 1e-9);
}

}  // namespace dpreduce::composed_loss_test
