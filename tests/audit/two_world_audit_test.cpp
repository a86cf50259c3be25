#include "audit/two_world_audit.hpp"

#include <atomic>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

#include "audit/confidence_bounds.hpp"

namespace dpreduce {
namespace {

constexpr double kMu = 0.8;
constexpr double kDelta = 1e-4;

// A Gaussian mechanism that is exactly mu-GDP: the canary adds (mu, 0) to two numbers with unit noise.
class GaussianRun : public AuditedRun {
 public:
  GaussianRun(double mu, unsigned seed) : mu_(mu), engine_(seed) {}
  std::vector<double> observe(World world) override {
    const double first = normal_(engine_) + (world == World::kWithCanary ? mu_ : 0.0);
    return {first, normal_(engine_)};
  }
  std::vector<View> views() const override { return {{0, 1}, {0, 2}}; }

 private:
  double mu_;
  std::mt19937 engine_;
  std::normal_distribution<double> normal_;
};

AuditedRunFactory gaussian(double mu, unsigned first_seed) {
  auto seed = std::make_shared<std::atomic<unsigned>>(first_seed);
  return [=] { return std::make_unique<GaussianRun>(mu, (*seed)++); };
}

TEST(TwoWorldAudit, ProvesMostOfATrueClaimAndNoMore) {
  const ProvenLoss proven =
      audit_two_worlds(gaussian(kMu, 1), {.runs_per_world = 40000, .delta = kDelta, .error = 1e-6, .threads = 2});
  EXPECT_LT(proven.mu, kMu);
  EXPECT_GT(proven.mu, 0.85 * kMu);
  EXPECT_LT(proven.epsilon, epsilon_of_mu(kMu, kDelta));
  EXPECT_GT(proven.epsilon, 0.3 * epsilon_of_mu(kMu, kDelta));
}

TEST(TwoWorldAudit, RefutesAClaimOfTwoThirds) {
  const ProvenLoss proven =
      audit_two_worlds(gaussian(1.5 * kMu, 2), {.runs_per_world = 20000, .delta = kDelta, .error = 1e-3, .threads = 1});
  EXPECT_GT(proven.mu, kMu);
}

TEST(TwoWorldAudit, ProvesNothingWhereNothingIsLost) {
  const ProvenLoss proven =
      audit_two_worlds(gaussian(0.0, 3), {.runs_per_world = 5000, .delta = 0.0, .error = 1e-6, .threads = 1});
  EXPECT_EQ(proven.mu, 0.0);
  EXPECT_EQ(proven.epsilon, 0.0);
}

// 100 audits, each false with probability at most 0.1: more than 27 false ones with probability below 1e-6.
TEST(TwoWorldAudit, RaisesNoMoreFalseAlarmsThanItMay) {
  int false_alarms = 0;
  for (unsigned audit = 0; audit < 100; ++audit) {
    const ProvenLoss proven =
        audit_two_worlds(gaussian(kMu, 100 + 10 * audit), {.runs_per_world = 200, .delta = kDelta, .error = 0.1});
    if (proven.mu > kMu || proven.epsilon > epsilon_of_mu(kMu, kDelta)) ++false_alarms;
  }
  EXPECT_LE(false_alarms, 27);
}

// The canary shows only beyond the summary, or only in it, where the rest is noise in hundreds of numbers.
TEST(TwoWorldAudit, AttacksEveryView) {
  const auto draw = [](double shift, Eigen::Index column, Eigen::Index columns, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    Runs runs(2000, columns);
    for (double& entry : runs.reshaped()) entry = normal(engine);
    runs.col(column).array() += shift;
    return runs;
  };
  const auto views = [](std::size_t summary, std::size_t all) -> std::vector<View> { return {{0, summary}, {0, all}}; };
  EXPECT_GT(proven_loss(draw(0.0, 2, 3, 1), draw(2.0, 2, 3, 2), views(2, 3), 0.0, 1e-3).mu, 1.5);
  EXPECT_GT(proven_loss(draw(0.0, 0, 400, 3), draw(1.0, 0, 400, 4), views(1, 400), 0.0, 1e-3).mu, 0.6);
  // As a score the last of 400 numbers needs no learning, and as one that speaks against the canary it says nothing.
  const std::vector<View> score{{399, 1, ViewKind::kScore}};
  EXPECT_GT(proven_loss(draw(0.0, 399, 400, 5), draw(1.0, 399, 400, 6), score, 0.0, 1e-3).mu, 0.6);
  EXPECT_EQ(proven_loss(draw(0.0, 399, 400, 7), draw(-1.0, 399, 400, 8), score, 0.0, 1e-3).mu, 0.0);
}

TEST(TwoWorldAudit, RunsAreSpreadOverThreadsAndKept) {
  const Runs runs = observe_runs(gaussian(0.0, 5), World::kWithoutCanary, 7, 3);
  EXPECT_EQ(runs.rows(), 7);
  EXPECT_EQ(runs.cols(), 2);
  for (Eigen::Index a = 0; a < runs.rows(); ++a) {
    for (Eigen::Index b = 0; b < a; ++b) EXPECT_NE(runs(a, 0), runs(b, 0));
  }
}

class FailingRun : public AuditedRun {
 public:
  std::vector<double> observe(World) override { throw std::runtime_error("no entropy"); }
  std::vector<View> views() const override { return {{0, 1}}; }
};

TEST(TwoWorldAudit, AFailingRunEndsTheAudit) {
  const AuditedRunFactory factory = [] { return std::make_unique<FailingRun>(); };
  EXPECT_THROW(observe_runs(factory, World::kWithCanary, 10, 2), std::runtime_error);
}

TEST(TwoWorldAudit, RefusesWhatItCannotCount) {
  const std::vector<View> both{{0, 2}};
  EXPECT_THROW(proven_loss(Runs::Zero(11, 2), Runs::Zero(20, 2), both, 0.0, 0.1), std::logic_error);
  EXPECT_THROW(proven_loss(Runs::Zero(20, 3), Runs::Zero(20, 2), both, 0.0, 0.1), std::logic_error);
  EXPECT_THROW(proven_loss(Runs::Zero(20, 2), Runs::Zero(20, 2), both, 0.0, 0.0), std::logic_error);
  EXPECT_THROW(proven_loss(Runs::Zero(20, 2), Runs::Zero(20, 2), {}, 0.0, 0.1), std::logic_error);
  EXPECT_THROW(proven_loss(Runs::Zero(20, 2), Runs::Zero(20, 2), {{0, 0}}, 0.0, 0.1), std::logic_error);
  EXPECT_THROW(proven_loss(Runs::Zero(20, 2), Runs::Zero(20, 2), {{1, 2}}, 0.0, 0.1), std::logic_error);
  EXPECT_THROW(proven_loss(Runs::Zero(20, 2), Runs::Zero(20, 2), {{0, 2, ViewKind::kScore}}, 0.0, 0.1),
               std::logic_error);
}

}  // namespace
}  // namespace dpreduce
