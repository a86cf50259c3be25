#include "aggregator/solvers/weight_intervals.hpp"

#include <cmath>

#include "aggregator/solvers/released_noise.hpp"
#include "aggregator/solvers/ridge_path.hpp"
#include "tests/testing.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kDim = 6;
constexpr double kNormal95 = 1.96;

// Rows with correlated features, as sums: G = n A A^T, of weights theta with two classes.
struct ExactSums {
  explicit ExactSums(double rows) : count(rows) {
    std::array<double, kDim * kDim> factor{};
    NormalStream normals(4, 0);
    for (double& entry : factor) entry = 0.1 * normals.next();
    for (std::size_t a = 0; a < kDim; ++a) factor[a * kDim + a] += 0.5;
    for (std::size_t a = 0; a < kDim; ++a) {
      for (std::size_t b = 0; b < kDim; ++b) {
        for (std::size_t k = 0; k < kDim; ++k) gram[a * kDim + b] += rows * factor[a * kDim + k] * factor[b * kDim + k];
      }
    }
    for (double& entry : theta) entry = 0.4 * normals.next();
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t a = 0; a < kDim; ++a) {
        for (std::size_t b = 0; b < kDim; ++b) sums[c * kDim + a] += gram[a * kDim + b] * theta[c * kDim + b];
        // The ridge of 1 is in theta.
        sums[c * kDim + a] += theta[c * kDim + a];
      }
    }
  }

  // With noise of seed `seed`; `noise` of the Gram matrix in units of feature^2.
  Release released(double noise, std::uint64_t seed) const {
    const double scale = Lattice{1.0, kDim}.scale();
    std::vector<std::int64_t> triangle;
    for (std::size_t a = 0; a < kDim; ++a) {
      for (std::size_t b = a; b < kDim; ++b) triangle.push_back(std::llround(gram[a * kDim + b] * scale * scale));
    }
    std::vector<std::int64_t> rows;
    for (const double sum : sums) rows.push_back(std::llround(sum * scale));
    const ReleasedBlock exact_gram("gram", std::move(triangle), noise * scale * scale);
    const ReleasedBlock exact_sums("class_sums", std::move(rows), noise * scale);
    // with_noise adds noise of the block's own sigma to its own: what is released has that alone.
    const ReleasedBlock noised_gram = with_noise(exact_gram, 1.0, kDim, {seed, 1});
    const ReleasedBlock noised_sums = with_noise(exact_sums, 1.0, 0, {seed, 2});
    const auto again = [](const ReleasedBlock& block, double sigma) {
      return ReleasedBlock(block.name(), {block.values().begin(), block.values().end()}, sigma);
    };
    return Release({again(noised_gram, exact_gram.sigma()), again(noised_sums, exact_sums.sigma())});
  }

  double count;
  std::array<double, kDim * kDim> gram{};
  std::array<double, 2 * kDim> theta{};
  std::array<double, 2 * kDim> sums{};
};

IntervalTerms of_weights() {
  IntervalTerms terms{.ridge = 1.0, .rows = std::vector<double>(kDim * kDim)};
  for (std::size_t a = 0; a < kDim; ++a) terms.rows[a * kDim + a] = 1.0;
  return terms;
}

// Share of weights whose interval holds them, over seeds in which intervals of that kind are given.
double coverage(const ExactSums& exact, double noise, IntervalKind kind, std::uint64_t seeds) {
  double held = 0.0;
  double given = 0.0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const LinearIntervals intervals = linear_intervals(exact.released(noise, seed), {1.0, kDim}, of_weights());
    if (intervals.kind != kind) continue;
    for (std::size_t e = 0; e < intervals.estimates.size(); ++e) {
      const double truth = exact.theta[e % 2 * kDim + e / 2];
      held += std::abs(intervals.estimates[e] - truth) <= kNormal95 * intervals.deviations[e];
      given += 1.0;
    }
  }
  EXPECT_GT(given, 0.5 * static_cast<double>(seeds * 2 * kDim));
  return held / given;
}

// Standard deviation of these shares: about .007, and .012. Fixed seeds.
TEST(WeightIntervalsTest, FormulasHoldInNineteenOfTwentyRuns) {
  EXPECT_NEAR(coverage(ExactSums(4000), 20.0, IntervalKind::kFormula, 400), 0.95, 0.02);
}

TEST(WeightIntervalsTest, TheyHoldAsOftenWhereTheNoiseIsNotSmall) {
  EXPECT_NEAR(coverage(ExactSums(4000), 50.0, IntervalKind::kFormula, 400), 0.95, 0.02);
}

// 1.07 here, which has a standard deviation of about .02; 1.18 with what noise adds to the formula's terms still in.
TEST(WeightIntervalsTest, TheDeviationIsThatOfTheEstimate) {
  const ExactSums exact(4000);
  double squares = 0.0;
  double variances = 0.0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const LinearIntervals intervals = linear_intervals(exact.released(50.0, seed), {1.0, kDim}, of_weights());
    for (std::size_t e = 0; e < intervals.estimates.size(); ++e) {
      squares += std::pow(intervals.estimates[e] - exact.theta[e % 2 * kDim + e / 2], 2);
      variances += std::pow(intervals.deviations[e], 2);
    }
  }
  EXPECT_NEAR(variances / squares, 1.0, 0.12);
}

TEST(WeightIntervalsTest, LargeNoiseIsRefused) {
  const ExactSums exact(4000);
  const LinearIntervals intervals = linear_intervals(exact.released(1000.0, 1), {1.0, kDim}, of_weights());
  EXPECT_EQ(intervals.kind, IntervalKind::kNone);
  EXPECT_GT(intervals.kappa, most_kappa_of(kDim));
  EXPECT_TRUE(intervals.estimates.empty());
}

TEST(WeightIntervalsTest, ThePopulationIsFartherAwayByTheResidual) {
  const ExactSums exact(4000);
  IntervalTerms terms = of_weights();
  terms.count = exact.count;
  for (std::size_t c = 0; c < 2; ++c) {
    double explained = 0.0;
    for (std::size_t a = 0; a < kDim; ++a) explained += exact.theta[c * kDim + a] * exact.sums[c * kDim + a];
    terms.squared_targets.push_back(explained + 4.0 * exact.count);  // residuals of variance 4
  }
  const LinearIntervals intervals = linear_intervals(exact.released(1e-3, 1), {1.0, kDim}, terms);
  // Without noise to speak of, the variance of least squares: s^2 (H^-1 G H^-1)_aa, about 4 (G^-1)_aa. A direction
  // that G stretches by g has 4 / g.
  std::vector<double> unit(kDim, 0.0);
  for (std::size_t a = 0; a < kDim; ++a) {
    EXPECT_GT(intervals.population_deviations[2 * a], 100.0 * intervals.deviations[2 * a]);
    EXPECT_GE(std::pow(intervals.population_deviations[2 * a], 2), 3.8 / exact.gram[a * kDim + a]);
  }
}

TEST(RidgePathTest, TheEstimatedLossIsTheLossOnTheRows) {
  // The mean over seeds of the estimate is that of the true loss of what is trained on the same noise.
  const ExactSums exact(4000);
  const std::vector<double> ridges{10.0, 200.0};
  std::vector<double> mean(2, 0.0);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::vector<RidgePoint> path = ridge_path(exact.released(5.0, seed), {1.0, kDim}, ridges,
                                                    {.count = exact.count, .squared_targets = exact.count}, seed);
    for (std::size_t m = 0; m < 2; ++m) mean[m] += path[m].loss / 100.0;
  }
  // (tr(W G W^T) - 2 tr(W B^T) + n) / (n K) without noise, W = B (G + R)^-1, about G's inverse for small R.
  double explained = 0.0;
  for (std::size_t e = 0; e < exact.theta.size(); ++e) explained += exact.theta[e] * exact.sums[e];
  const double best = std::max(0.0, (1.0 - explained / exact.count) / 2.0);
  EXPECT_GE(mean[1], mean[0] - 1e-9);
  EXPECT_NEAR(mean[0], best, 0.05);
}

}  // namespace
}  // namespace dpreduce
