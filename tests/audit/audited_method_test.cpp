#include "audit/audited_method.hpp"

#include "audit/neighbor_rows.hpp"
#include "common/base/error.hpp"
#include "common/base/output_file.hpp"
#include "tests/testing.hpp"

namespace dpreduce::audited_method_test {

constexpr double kSigma = 4.0;

PlannedRelease planned(BlockNoise noise) {
  return {.name = "gram",
          .rounds = 1,
          .blocks = {{.name = "gram",
                      .elements = 3,
                      .squared_sensitivity = 1,
                      .sensitivity = 1.0,
                      .sigma = kSigma,
                      .mu = 0.25,
                      .noise = noise}},
          .profiles = {},
          .mu = 0.25};
}

Statistic statistic(std::int64_t a, std::int64_t b, std::int64_t c) {
  Statistic result({{"gram", 3}});
  std::ranges::copy(std::vector<std::int64_t>{a, b, c}, result.block(0).begin());
  return result;
}

Release released(std::int64_t a, std::int64_t b, std::int64_t c) {
  return Release({ReleasedBlock("gram", {a, b, c}, kSigma)});
}

TEST(LogRatio, IsTheLogarithmOfTheDensitiesRatioAndZeroInEqualWorlds) {
  const Statistic without = statistic(0, 0, 0);
  const Statistic with = statistic(3, 5, -2);
  const auto log_density = [](double x, double mean, double variance) {
    return -(x - mean) * (x - mean) / (2 * variance);
  };
  const double v = kSigma * kSigma;
  const double by_hand = log_density(7, 3, v) + log_density(-1, 5, v / 2) + log_density(4, -2, v) -
                         (log_density(7, 0, v) + log_density(-1, 0, v / 2) + log_density(4, 0, v));
  EXPECT_NEAR(log_ratio(planned(BlockNoise::kSymmetric), released(7, -1, 4), without, with), by_hand, 1e-12);
  EXPECT_EQ(log_ratio(planned(BlockNoise::kEqual), released(100, 200, 300), statistic(1, 2, 3), statistic(1, 2, 3)),
            0.0);
}

TEST(LogRatio, DistanceCountsElementsBesideADiagonalTwice) {
  const Statistic without = statistic(0, 0, 0);
  const Statistic with = statistic(4, 4, 0);
  EXPECT_DOUBLE_EQ(planned_distance(planned(BlockNoise::kEqual), without, with), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(planned_distance(planned(BlockNoise::kSymmetric), without, with), std::sqrt(3.0));
}

TEST(LogRatio, OfCountsInFractionsIsInWholeUnits) {
  PlannedRelease whole = planned(BlockNoise::kEqual);
  PlannedRelease fractions = whole;
  fractions.blocks[0].fraction_bits = 2;
  const Statistic without({{"gram", 3, 2}});
  Statistic with({{"gram", 3, 2}});
  std::ranges::copy(std::vector<std::int64_t>{4 * 4, 6, 0}, with.block(0).begin());
  EXPECT_DOUBLE_EQ(planned_distance(fractions, without, with), std::sqrt((4.0 * 4.0 + 1.5 * 1.5) / 16.0));
  const double by_hand = (4.0 * (7 - 2.0) + 1.5 * (1 - 0.75)) / 16.0;
  EXPECT_NEAR(log_ratio(fractions, released(7, 1, 5), without, with), by_hand, 1e-12);
}

constexpr std::size_t kClasses = 3;
constexpr std::size_t kDim = 4;

struct Terms {
  std::string method;
  Metric metric;
  Adjacency adjacency;
  Centering center;
  bool shared_gram = true;
  std::uint64_t rows_per_person = 0;  // 0: the unit is a row
};

AuditedMethod method_of(const Terms& terms) {
  FitOptions options;
  options.data.classes = kClasses;
  options.method.name = terms.method;
  options.method.metric = terms.metric;
  options.rows.normalize = Normalize::kNone;
  options.rows.center = terms.center;
  if (terms.center == Centering::kDp) options.rows.center_share = 0.1;
  options.method.shared_gram = terms.shared_gram;
  options.method.rounds = 2;
  options.method.loss = Loss::kSquare;
  options.privacy.budget.mu = 1.0;
  options.privacy.adjacency = terms.adjacency;
  if (terms.rows_per_person > 0) {
    options.data.rows_per_person = terms.rows_per_person;
    options.data.train.person = {"persons"};
  }
  return AuditedMethod(options, kDim);
}

std::vector<NeighborPair> pairs_of(const Terms& terms) {
  return worst_case_pairs({.classes = kClasses,
                           .dim = kDim,
                           .clip_norm = 1.0,
                           .other_rows = 3,
                           .rows_taken_for = 3,
                           .balancing_rows = 4,
                           .adjacency = terms.adjacency,
                           .person_rows = 6 * terms.rows_per_person,
                           .has_counts = terms.rows_per_person > 0});
}

class MethodRunTest : public testing::TestWithParam<Terms> {};

// sum_b D_b^2 / s_b^2 of the pair's exact statistics: the mu that this pair can show. A gradient's first round is at
// zero weights, where squared loss has residuals of norm 1; for the others that stands as well. A center's rest is of
// rows that are clipped to their ball.
TEST_P(MethodRunTest, SomePairOfNeighborsCostsWhatThePlanPaysFor) {
  const AuditedMethod method = method_of(GetParam());
  const std::size_t dim = kDim + (GetParam().method == "fc" ? 1 : 0);
  double worst = 0.0;
  for (const NeighborPair& pair : pairs_of(GetParam())) {
    const PrivateFolder folder;
    const WorldFiles files = write_worlds(pair, false, 1.0, folder.path());
    double cost = 0.0;
    for (const PlannedRelease& planned : method.plan().noise->releases) {
      Preprocessing preprocessing = method.plan().preprocessing;
      if (planned.name == "gradient") preprocessing.intercept = 0.1;
      const LatticeWeights zero(std::vector<double>(kClasses * dim, 0.0), {1.0, dim});
      PublicPoint at = GradientPoint{zero, Loss::kSquare};
      if (planned.name == "center_rest") at = ClassBalls{std::vector<double>(kDim, 0.0), {0.5}};
      const auto statistic_of = [&](const WorldRows& world) {
        WorkerRows rows = open_world(method.options(), world);
        return method.statistic(planned.name, rows, preprocessing, at);
      };
      const double distance = planned_distance(planned, statistic_of(files.without), statistic_of(files.with));
      cost += static_cast<double>(planned.rounds) * distance * distance;
    }
    EXPECT_LE(std::sqrt(cost), method.plan().noise->mu) << pair.name;
    worst = std::max(worst, std::sqrt(cost));
  }
  // A Gram matrix and sums beside it do not reach their worst on one pair of rows (replace-one).
  const bool is_reached = GetParam().adjacency == Adjacency::kAddRemove || GetParam().method == "mean";
  EXPECT_GT(worst, (is_reached ? 0.998 : 0.7) * method.plan().noise->mu);
}

TEST_P(MethodRunTest, EveryRunPublishesEveryNumberWithNoiseOfItsOwn) {
  const AuditedMethod method = method_of(GetParam());
  const PrivateFolder folder;
  MethodRun run(method, write_worlds(pairs_of(GetParam()).front(), false, 1.0, folder.path()), folder / "ledger.jsonl");
  std::size_t summary = kClasses * (kDim + 1);  // the model
  std::size_t rounds = 0;
  for (const PlannedRelease& planned : method.plan().noise->releases) {
    for (const PlannedBlock& block : planned.blocks) {
      summary += block.elements;
      if (planned.rounds > 1) rounds += planned.rounds * block.elements;
    }
  }
  const std::vector<double> first = run.observe(World::kWithCanary);
  const std::vector<double> second = run.observe(World::kWithCanary);
  const std::size_t ratios = 1 + method.plan().noise->releases.size();
  EXPECT_EQ(run.views().front().columns, summary);
  EXPECT_EQ(first.size(), summary + rounds + ratios);
  EXPECT_EQ(second.size(), summary + rounds + ratios);
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::filesystem::exists(folder / "ledger.jsonl"));
}

TEST(AuditedMethod, NeedsABudget) {
  FitOptions options;
  options.data.classes = kClasses;
  EXPECT_THROW(AuditedMethod(options, kDim), UsageError);
  options.privacy.budget.non_private = true;
  EXPECT_THROW(AuditedMethod(options, kDim), std::logic_error);
}

INSTANTIATE_TEST_SUITE_P(
    Terms, MethodRunTest,
    testing::Values(Terms{"mean", Metric::kCosine, Adjacency::kAddRemove, Centering::kNone},
                    Terms{"mean", Metric::kEuclidean, Adjacency::kAddRemove, Centering::kDp},
                    Terms{"mean", Metric::kEuclidean, Adjacency::kReplaceOne, Centering::kNone},
                    Terms{"mean", Metric::kCosine, Adjacency::kReplaceOne, Centering::kDp},
                    Terms{"ls", Metric::kCosine, Adjacency::kAddRemove, Centering::kDp},
                    Terms{"ls", Metric::kCosine, Adjacency::kReplaceOne, Centering::kNone},
                    Terms{"ls", Metric::kCosine, Adjacency::kAddRemove, Centering::kDp, false},
                    Terms{"ls", Metric::kCosine, Adjacency::kReplaceOne, Centering::kNone, false},
                    Terms{"mean", Metric::kEuclidean, Adjacency::kAddRemove, Centering::kDp, true, 2},
                    Terms{"mean", Metric::kEuclidean, Adjacency::kReplaceOne, Centering::kNone, true, 1},
                    Terms{"ls", Metric::kCosine, Adjacency::kAddRemove, Centering::kDp, true, 3},
                    Terms{"fc", Metric::kCosine, Adjacency::kAddRemove, Centering::kNone, true, 1},
                    Terms{"fc", Metric::kCosine, Adjacency::kAddRemove, Centering::kNone},
                    Terms{"fc", Metric::kCosine, Adjacency::kReplaceOne, Centering::kDp}));

}  // namespace dpreduce::audited_method_test
