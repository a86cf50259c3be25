#include "audit/attack.hpp"

#include <cmath>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

namespace dpreduce {
namespace {

constexpr Eigen::Index kRuns = 4000;

struct Worlds {
  Runs without;
  Runs with;
};

// (mean of scores with - without) / standard deviation of scores: mu, where scores are Gaussian.
double separation(const Attack& attack, const Worlds& worlds) {
  const Eigen::VectorXd s0 = attack.scores(worlds.without);
  const Eigen::VectorXd s1 = attack.scores(worlds.with);
  const double variance = (s0.array() - s0.mean()).square().mean();
  return (s1.mean() - s0.mean()) / std::sqrt(variance);
}

// Two numbers with independent noise of very different size, a third that never changes.
Worlds shifted(std::mt19937& engine) {
  std::normal_distribution<double> normal;
  Worlds worlds{Runs(kRuns, 3), Runs(kRuns, 3)};
  for (Eigen::Index run = 0; run < kRuns; ++run) {
    worlds.without.row(run) << 1e9 * normal(engine), 1e-3 * normal(engine), 7.0;
    worlds.with.row(run) << 1e9 * (normal(engine) + 1.2), 1e-3 * (normal(engine) - 1.6), 7.0;
  }
  return worlds;
}

TEST(Attack, LinearReachesTheBestSeparationWhateverTheScales) {
  std::mt19937 engine(1);
  const Attack attack(Discriminant::kLinear, shifted(engine).without, shifted(engine).with);
  EXPECT_NEAR(separation(attack, shifted(engine)), std::hypot(1.2, 1.6), 0.1);  // five standard errors
}

TEST(Attack, SharedNoiseSeparatesCompletely) {
  std::mt19937 engine(2);
  const auto draw = [&] {
    std::normal_distribution<double> normal(0.0, 1e6);
    Worlds worlds{Runs(kRuns, 2), Runs(kRuns, 2)};
    for (Eigen::Index run = 0; run < kRuns; ++run) {
      const double same = normal(engine);
      const double other = normal(engine);
      worlds.without.row(run) << same, same;
      worlds.with.row(run) << other + 1000.0, other;
    }
    return worlds;
  };
  const Worlds learned = draw();
  const Worlds seen = draw();
  for (const Discriminant discriminant : {Discriminant::kLinear, Discriminant::kQuadratic}) {
    const Attack attack(discriminant, learned.without, learned.with);
    EXPECT_GT(attack.scores(seen.with).minCoeff(), attack.scores(seen.without).maxCoeff());
  }
}

TEST(Attack, QuadraticSeesACanaryThatOnlyChangesTheNoise) {
  std::mt19937 engine(3);
  const auto draw = [&] {
    std::normal_distribution<double> normal;
    Worlds worlds{Runs(kRuns, 2), Runs(kRuns, 2)};
    for (Eigen::Index run = 0; run < kRuns; ++run) {
      worlds.without.row(run) << normal(engine), normal(engine);
      worlds.with.row(run) << 3.0 * normal(engine), normal(engine);
    }
    return worlds;
  };
  const Worlds learned = draw();
  const Attack quadratic(Discriminant::kQuadratic, learned.without, learned.with);
  const Worlds seen = draw();
  const auto share_above = [](const Eigen::VectorXd& scores, double t) {
    return (scores.array() > t).cast<double>().mean();
  };
  // ln p_1 / p_0 > 0 where |x| > 1.57: P_0 = 0.12, P_1 = 0.60. Scores are twice that, but for ln 3.
  EXPECT_LT(share_above(quadratic.scores(seen.without), 2.0 * std::log(3.0)), 0.15);
  EXPECT_GT(share_above(quadratic.scores(seen.with), 2.0 * std::log(3.0)), 0.56);
}

TEST(Attack, RefusesRunsThatDoNotFit) {
  EXPECT_THROW(Attack(Discriminant::kLinear, Runs(1, 2), Runs(5, 2)), std::logic_error);
  EXPECT_THROW(Attack(Discriminant::kLinear, Runs(5, 2), Runs(5, 3)), std::logic_error);
  std::mt19937 engine(4);
  const Worlds worlds = shifted(engine);
  EXPECT_THROW(Attack(Discriminant::kLinear, worlds.without, worlds.with).scores(Runs(5, 2)), std::logic_error);
}

}  // namespace
}  // namespace dpreduce
