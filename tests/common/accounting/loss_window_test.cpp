#include "common/accounting/composed_loss.hpp"
#include "tests/testing.hpp"

namespace dpreduce::loss_window_test {

std::vector<LossSketch> gaussian_losses(double z, std::uint64_t count) {
  std::vector<LossSketch> losses;
  losses.emplace_back(pessimistic_law(GaussianMechanism{z}, Direction::kRemove, 1e-18), count);
  return losses;
}

// A Gaussian's loss is N(mu^2/2, mu^2): K(theta) = count mu^2 (theta + theta^2) / 2.
TEST(LossSketch, MomentsOfAGaussianAreKnown) {
  const std::vector<LossSketch> losses = gaussian_losses(2, 50);
  for (const double theta : {0.5, 1.0, 4.0}) {
    const double k = 50 * 0.25 * (theta + theta * theta) / 2;
    EXPECT_NEAR(log_moment(losses, theta), k, 1e-3 * k);
    EXPECT_NEAR(losses[0].mean(theta), 50 * 0.25 * (0.5 + theta), 0.05);
  }
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

TEST(LossSketch, ReachSpansTheRange) {
  const std::vector<LossSketch> losses = gaussian_losses(1, 1);
  EXPECT_NEAR(losses[0].reach(0, 1) + losses[0].reach(0, -1), losses[0].range(), 1e-12);
  EXPECT_LT(losses[0].reach(3, 1), losses[0].reach(0, 1));
}

}  // namespace dpreduce::loss_window_test
