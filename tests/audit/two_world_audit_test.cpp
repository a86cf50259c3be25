#include "audit/two_world_audit.hpp"

#include <atomic>

#include "audit/confidence_bounds.hpp"
#include "tests/testing.hpp"

namespace dpreduce::two_world_audit_test {

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

TEST(TwoWorldAudit, ProvesMostOfATrueClaimNothingOfNoneAndRefutesOneOfTwoThirds) {
  const ProvenLoss proven =
      audit_two_worlds(gaussian(kMu, 1), {.runs_per_world = 40000, .delta = kDelta, .error = 1e-6, .threads = 2});
  EXPECT_LT(proven.mu, kMu);
  EXPECT_GT(proven.mu, 0.85 * kMu);
  EXPECT_LT(proven.epsilon, epsilon_of_mu(kMu, kDelta));
  EXPECT_GT(proven.epsilon, 0.3 * epsilon_of_mu(kMu, kDelta));
  const ProvenLoss refuted =
      audit_two_worlds(gaussian(1.5 * kMu, 2), {.runs_per_world = 20000, .delta = kDelta, .error = 1e-3, .threads = 1});
  EXPECT_GT(refuted.mu, kMu);
  const ProvenLoss nothing =
      audit_two_worlds(gaussian(0.0, 3), {.runs_per_world = 5000, .delta = 0.0, .error = 1e-6, .threads = 1});
  EXPECT_EQ(nothing.mu, 0.0);
  EXPECT_EQ(nothing.epsilon, 0.0);
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

// So many runs of numbers that `draw` makes, given which of its run it is.
template <typename Draw>
Runs draw_runs(std::size_t runs, std::size_t columns, Draw draw) {
  Runs drawn(runs, std::vector<double>(columns));
  for (std::vector<double>& run : drawn) {
    for (std::size_t c = 0; c < columns; ++c) run[c] = draw(c);
  }
  return drawn;
}

// The canary shows only beyond the summary, or only in it, where the rest is noise in hundreds of numbers.
TEST(TwoWorldAudit, AttacksEveryView) {
  const auto draw = [](double shift, std::size_t column, std::size_t columns, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    return draw_runs(2000, columns, [&](std::size_t c) { return normal(engine) + (c == column ? shift : 0.0); });
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
  ASSERT_EQ(runs.size(), 7);
  for (std::size_t a = 0; a < runs.size(); ++a) {
    EXPECT_EQ(runs[a].size(), 2);
    for (std::size_t b = 0; b < a; ++b) EXPECT_NE(runs[a][0], runs[b][0]);
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
  const auto zeros = [](std::size_t runs, std::size_t columns) { return Runs(runs, std::vector<double>(columns)); };
  EXPECT_THROW(proven_loss(zeros(11, 2), zeros(20, 2), both, 0.0, 0.1), std::logic_error);
  EXPECT_THROW(proven_loss(zeros(20, 3), zeros(20, 2), both, 0.0, 0.1), std::logic_error);
  const Runs runs = zeros(20, 2);
  EXPECT_THROW(proven_loss(runs, runs, both, 0.0, 0.0), std::logic_error);
  EXPECT_THROW(proven_loss(runs, runs, {}, 0.0, 0.1), std::logic_error);
  EXPECT_THROW(proven_loss(runs, runs, {{0, 0}}, 0.0, 0.1), std::logic_error);
  EXPECT_THROW(proven_loss(runs, runs, {{1, 2}}, 0.0, 0.1), std::logic_error);
  EXPECT_THROW(proven_loss(runs, runs, {{0, 2, ViewKind::kScore}}, 0.0, 0.1), std::logic_error);
}

constexpr std::size_t kRuns = 4000;

struct Worlds {
  Runs without;
  Runs with;
};

double mean_of(const std::vector<double>& scores) {
  return std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
}

// (mean of scores with - without) / standard deviation of scores: mu, where scores are Gaussian.
double separation(const Attack& attack, const Worlds& worlds) {
  const std::vector<double> without = attack.scores(worlds.without);
  const double mean = mean_of(without);
  std::vector<double> squares = without;
  for (double& score : squares) score = std::pow(score - mean, 2);
  return (mean_of(attack.scores(worlds.with)) - mean) / std::sqrt(mean_of(squares));
}

// Two numbers with independent noise of very different size, a third that never changes.
Worlds shifted(std::mt19937& engine) {
  std::normal_distribution<double> normal;
  Worlds worlds;
  for (std::size_t run = 0; run < kRuns; ++run) {
    worlds.without.push_back({1e9 * normal(engine), 1e-3 * normal(engine), 7.0});
    worlds.with.push_back({1e9 * (normal(engine) + 1.2), 1e-3 * (normal(engine) - 1.6), 7.0});
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
    Worlds worlds;
    for (std::size_t run = 0; run < kRuns; ++run) {
      const double same = normal(engine);
      const double other = normal(engine);
      worlds.without.push_back({same, same});
      worlds.with.push_back({other + 1000.0, other});
    }
    return worlds;
  };
  const Worlds learned = draw();
  const Worlds seen = draw();
  for (const Discriminant discriminant : {Discriminant::kLinear, Discriminant::kQuadratic}) {
    const Attack attack(discriminant, learned.without, learned.with);
    EXPECT_GT(std::ranges::min(attack.scores(seen.with)), std::ranges::max(attack.scores(seen.without)));
  }
}

TEST(Attack, QuadraticSeesACanaryThatOnlyChangesTheNoise) {
  std::mt19937 engine(3);
  const auto draw = [&] {
    std::normal_distribution<double> normal;
    Worlds worlds;
    for (std::size_t run = 0; run < kRuns; ++run) {
      worlds.without.push_back({normal(engine), normal(engine)});
      worlds.with.push_back({3.0 * normal(engine), normal(engine)});
    }
    return worlds;
  };
  const Worlds learned = draw();
  const Attack quadratic(Discriminant::kQuadratic, learned.without, learned.with);
  const Worlds seen = draw();
  const auto share_above = [](const std::vector<double>& scores, double t) {
    return static_cast<double>(std::ranges::count_if(scores, [t](double score) { return score > t; })) / kRuns;
  };
  // ln p_1 / p_0 > 0 where |x| > 1.57: P_0 = 0.12, P_1 = 0.60. Scores are twice that, but for ln 3.
  EXPECT_LT(share_above(quadratic.scores(seen.without), 2.0 * std::log(3.0)), 0.15);
  EXPECT_GT(share_above(quadratic.scores(seen.with), 2.0 * std::log(3.0)), 0.56);
}

TEST(Attack, ScoresAreTheSameInABasisOfFewRuns) {
  std::mt19937 engine(5);
  std::normal_distribution<double> normal;
  const auto draw = [&](double mean) { return draw_runs(8, 40, [&](std::size_t) { return normal(engine) + mean; }); };
  const auto thrice = [](Runs runs) {
    const Runs once = runs;
    for (int more = 0; more < 2; ++more) runs.insert(runs.end(), once.begin(), once.end());
    return runs;
  };
  const Worlds learned{draw(0.0), draw(0.5)};
  const Runs seen = draw(0.2);
  for (const Discriminant discriminant : {Discriminant::kLinear, Discriminant::kQuadratic}) {
    const std::vector<double> few = Attack(discriminant, learned.without, learned.with).scores(seen);
    // Three times the same runs: the same means and covariances, of more runs than numbers.
    const std::vector<double> many = Attack(discriminant, thrice(learned.without), thrice(learned.with)).scores(seen);
    const double largest = std::abs(std::ranges::max(many, {}, [](double score) { return std::abs(score); }));
    for (std::size_t run = 0; run < seen.size(); ++run) EXPECT_NEAR(few[run], many[run], 1e-5 * largest);
  }
}

TEST(Attack, RefusesRunsThatDoNotFit) {
  const auto zeros = [](std::size_t runs, std::size_t columns) { return Runs(runs, std::vector<double>(columns)); };
  EXPECT_THROW(Attack(Discriminant::kLinear, zeros(1, 2), zeros(5, 2)), std::logic_error);
  EXPECT_THROW(Attack(Discriminant::kLinear, zeros(5, 2), zeros(5, 3)), std::logic_error);
  std::mt19937 engine(4);
  const Worlds worlds = shifted(engine);
  EXPECT_THROW(Attack(Discriminant::kLinear, worlds.without, worlds.with).scores(zeros(5, 2)), std::logic_error);
}

}  // namespace dpreduce::two_world_audit_test
