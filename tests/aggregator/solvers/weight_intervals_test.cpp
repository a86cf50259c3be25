#include "aggregator/solvers/gram_spectrum.hpp"
#include "aggregator/solvers/least_squares.hpp"
#include "aggregator/solvers/ridge_figures.hpp"
#include "tests/elimination.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kDim = 6;
constexpr double kNormal95 = 1.96;

std::vector<double> unit_vector(std::size_t a) {
  std::vector<double> unit(kDim, 0.0);
  unit[a] = 1.0;
  return unit;
}

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

  // With noise of seed `seed`; `noise` of the Gram matrix in units of feature^2, of sums the same unless it is given.
  Release released(double noise, std::uint64_t seed, std::optional<double> noise_of_sums = {}) const {
    const double scale = Lattice{1.0, kDim}.scale();
    std::vector<std::int64_t> triangle;
    for (std::size_t a = 0; a < kDim; ++a) {
      for (std::size_t b = a; b < kDim; ++b) triangle.push_back(std::llround(gram[a * kDim + b] * scale * scale));
    }
    std::vector<std::int64_t> rows;
    for (const double sum : sums) rows.push_back(std::llround(sum * scale));
    const ReleasedBlock exact_gram("gram", std::move(triangle), noise * scale * scale);
    const ReleasedBlock exact_sums("class_sums", std::move(rows), noise_of_sums.value_or(noise) * scale);
    // with_noise adds noise of the block's own sigma to its own: what is released has that alone.
    const ReleasedBlock noised_gram = with_noise(exact_gram, 1.0, kDim, {seed, 1});
    const ReleasedBlock noised_sums = with_noise(exact_sums, 1.0, 0, {seed, 2});
    const auto again = [](const ReleasedBlock& block, double sigma) {
      return ReleasedBlock(block.name(), {block.values().begin(), block.values().end()}, sigma);
    };
    return Release({again(noised_gram, exact_gram.sigma()), again(noised_sums, exact_sums.sigma())});
  }

  // G + R.
  std::vector<std::vector<double>> with_ridge(double ridge) const {
    std::vector<std::vector<double>> left(kDim, std::vector<double>(kDim));
    for (std::size_t e = 0; e < kDim * kDim; ++e) {
      left[e / kDim][e % kDim] = gram[e] + (e % (kDim + 1) == 0 ? ridge : 0.0);
    }
    return left;
  }

  // w^T G w.
  double energy(std::span<const double> w) const {
    double sum = 0.0;
    for (std::size_t e = 0; e < kDim * kDim; ++e) sum += w[e / kDim] * gram[e] * w[e % kDim];
    return sum;
  }

  // (H^-1 G H^-1)_aa, H = G + I.
  double leverage(std::size_t a) const { return energy(solved_by_elimination(with_ridge(1.0), unit_vector(a))); }

  // theta_c^T b_c.
  double explained(std::size_t c) const {
    const auto of_class = static_cast<std::ptrdiff_t>(c * kDim);
    return std::inner_product(theta.begin() + of_class, theta.begin() + of_class + kDim, sums.begin() + of_class, 0.0);
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

// The same for the population, of residuals of that variance.
IntervalTerms of_population(const ExactSums& exact, double variance) {
  IntervalTerms terms = of_weights();
  terms.count = exact.count;
  for (std::size_t c = 0; c < 2; ++c) terms.squared_targets.push_back(exact.explained(c) + variance * exact.count);
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
TEST(WeightIntervalsTest, FormulasHoldInNineteenOfTwentyRunsWhetherTheNoiseIsSmallOrNot) {
  for (const double noise : {20.0, 50.0}) {
    EXPECT_NEAR(coverage(ExactSums(4000), noise, IntervalKind::kFormula, 400), 0.95, 0.02) << noise;
  }
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

// u = theta, no noise of sums, a small kappa: Var(u^T E theta) = v |u|^2 |theta|^2 + v (u^T theta)^2, half of it by
// each term. Another direction, at a right angle, has the first alone. A variance of 4,000 draws is known to 2.2 %.
TEST(WeightIntervalsTest, TheDeviationHasBothTermsOfTheNoiseOfTheGramMatrix) {
  const ExactSums exact(4000);
  std::array<double, kDim> across{};  // theta of class 0, with two entries exchanged and one sign, and zeros
  across[0] = exact.theta[1];
  across[1] = -exact.theta[0];
  IntervalTerms terms{.ridge = 1.0, .rows = std::vector<double>(2 * kDim)};
  for (std::size_t a = 0; a < kDim; ++a) {
    for (std::size_t b = 0; b < kDim; ++b) {
      const double entry = exact.gram[a * kDim + b] + (a == b ? 1.0 : 0.0);
      terms.rows[a] += entry * exact.theta[b];
      terms.rows[kDim + a] += entry * across[b];
    }
  }
  const double energy = sum_of_squares(std::span(exact.theta).first(kDim));
  const double energy_across = sum_of_squares(across);
  constexpr double kNoise = 2.0;
  const double v = kNoise * kNoise / 2.0;
  const auto truth = [&](const double* z) { return std::inner_product(z, z + kDim, exact.theta.begin(), 0.0); };
  constexpr std::uint64_t kSeeds = 4000;
  double along_squares = 0.0;
  double across_squares = 0.0;
  double along_told = 0.0;
  double across_told = 0.0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const LinearIntervals told = linear_intervals(exact.released(kNoise, seed, 1e-3), {1.0, kDim}, terms);
    along_squares += std::pow(told.estimates[0] - truth(&terms.rows[0]), 2) / kSeeds;
    across_squares += std::pow(told.estimates[2] - truth(&terms.rows[kDim]), 2) / kSeeds;
    along_told += std::pow(told.deviations[0], 2) / kSeeds;
    across_told += std::pow(told.deviations[2], 2) / kSeeds;
  }
  EXPECT_NEAR(along_squares / (2.0 * v * energy * energy), 1.0, 0.1);
  EXPECT_NEAR(along_told / (2.0 * v * energy * energy), 1.0, 0.01);
  EXPECT_NEAR(across_told / (v * energy_across * energy), 1.0, 0.01);
  EXPECT_NEAR(across_squares / (v * energy_across * energy), 1.0, 0.1);
}

// Without the correction a weight is too large by 1 to 2 parts in 100 here, and its mean over 4,000 seeds is known to a
// twentieth of that.
TEST(WeightIntervalsTest, TheEstimateIsFreeOfTheBiasOfNoise) {
  const ExactSums exact(4000);
  constexpr std::uint64_t kSeeds = 4000;
  IntervalTerms terms{.ridge = 1.0, .rows = std::vector<double>(exact.theta.begin(), exact.theta.begin() + kDim)};
  const double energy = sum_of_squares(std::span(exact.theta).first(kDim));
  double mean = 0.0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    mean += linear_intervals(exact.released(30.0, seed), {1.0, kDim}, terms).estimates[0] / kSeeds;
  }
  EXPECT_NEAR(mean / energy, 1.0, 0.0025);
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
  const LinearIntervals intervals = linear_intervals(exact.released(1e-3, 1), {1.0, kDim}, of_population(exact, 4.0));
  // Without noise to speak of, the variance of least squares: s^2 (H^-1 G H^-1)_aa; the sample has 4 n of residuals,
  // and d fewer freedoms than rows.
  for (std::size_t a = 0; a < kDim; ++a) {
    EXPECT_GT(intervals.population_deviations[2 * a], 100.0 * intervals.deviations[2 * a]);
    EXPECT_NEAR(std::pow(intervals.population_deviations[2 * a], 2),
                4.0 * exact.count / (exact.count - kDim) * exact.leverage(a), 0.001 * 4.0 * exact.leverage(a));
  }
}

// The noise of the Gram matrix makes residuals look larger, by 5 parts in 100 here: the mean over 2,000 seeds is known
// to .3 of these.
TEST(WeightIntervalsTest, TheResidualIsFreeOfWhatNoiseAddsToIt) {
  const ExactSums exact(4000);
  constexpr double kVariance = 0.1;
  const IntervalTerms terms = of_population(exact, kVariance);
  double sum = 0.0;
  double expected = 0.0;
  constexpr std::uint64_t kSeeds = 2000;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const LinearIntervals told = linear_intervals(exact.released(30.0, seed), {1.0, kDim}, terms);
    ASSERT_EQ(told.kind, IntervalKind::kFormula);
    for (std::size_t e = 0; e < told.deviations.size(); ++e) {
      sum += std::pow(told.population_deviations[e], 2) - std::pow(told.deviations[e], 2);
      expected += kVariance * exact.count / (exact.count - kDim) * exact.leverage(e / 2);
    }
  }
  EXPECT_NEAR(sum / expected, 1.0, 0.008);
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
  const double best = std::max(0.0, (1.0 - (exact.explained(0) + exact.explained(1)) / exact.count) / 2.0);
  EXPECT_GE(mean[1], mean[0] - 1e-9);
  EXPECT_NEAR(mean[0], best, 0.05);
}

// (sum_c w_c^T G w_c - 2 w_c^T b_c + |y|^2) / (n K).
double exact_loss(const ExactSums& exact, std::span<const double> w, double squared_targets) {
  double sum = squared_targets;
  for (std::size_t c = 0; c < 2; ++c) {
    sum += exact.energy(w.subspan(c * kDim, kDim));
    for (std::size_t a = 0; a < kDim; ++a) sum -= 2.0 * w[c * kDim + a] * exact.sums[c * kDim + a];
  }
  return sum / (2.0 * exact.count);
}

// 50 rows, next to no noise, by elimination: the loss on them, and 2 tr(G (G + R)^-1) / n of it more. The root of the
// noise in a score is that of tr(G Cov w_c) over classes and rows.
TEST(RidgePathTest, TheLossIsThatOfOtherRowsAndTheNoiseThatOfTheirScores) {
  const ExactSums exact(50);
  constexpr double kNoise = 0.02;
  const double v = kNoise * kNoise / 2.0;
  for (const double ridge : {0.5, 10.0}) {
    const std::vector<std::vector<double>> left = exact.with_ridge(ridge);
    std::vector<double> weights;
    for (std::size_t c = 0; c < 2; ++c) {
      const auto sums = std::span(exact.sums).subspan(c * kDim, kDim);
      const std::vector<double> w = solved_by_elimination(left, {sums.begin(), sums.end()});
      weights.insert(weights.end(), w.begin(), w.end());
    }
    double degrees = 0.0;
    double spread = 0.0;  // tr(G H^-2)
    for (std::size_t a = 0; a < kDim; ++a) {
      const std::vector<double> inverse = solved_by_elimination(left, unit_vector(a));
      for (std::size_t b = 0; b < kDim; ++b) degrees += exact.gram[a * kDim + b] * inverse[b];
      spread += exact.energy(inverse);
    }
    double variance = 0.0;
    for (std::size_t c = 0; c < 2; ++c) {
      const std::vector<double> w(weights.begin() + static_cast<std::ptrdiff_t>(c * kDim),
                                  weights.begin() + static_cast<std::ptrdiff_t>((c + 1) * kDim));
      variance += (1e-12 + v * sum_of_squares(w)) * spread + v * exact.energy(solved_by_elimination(left, w));
    }
    const std::vector<RidgePoint> path = ridge_path(exact.released(kNoise, 3, 1e-6), {1.0, kDim}, {&ridge, 1},
                                                    {.count = exact.count, .squared_targets = 100.0}, 3);
    const double expected = exact_loss(exact, weights, 100.0) * (1.0 + 2.0 * degrees / exact.count);
    EXPECT_NEAR(path.front().loss / expected, 1.0, 0.01) << ridge;
    EXPECT_NEAR(path.front().noise / std::sqrt(variance / (2.0 * exact.count)), 1.0, 0.01) << ridge;
  }
}

// What is trained on one part of the noise is judged by the other: the mean over seeds is the loss without noise of
// what is trained on noise sqrt(1 + 1/4) times as large. Each mean of 1,000 is known to a part in 100.
TEST(RidgePathTest, TheLossIsUnbiasedWhereNoiseIsLarge) {
  const ExactSums exact(4000);
  constexpr double kNoise = 300.0;
  constexpr double kRidge = 500.0;
  const double targets = exact.count;
  Communicator alone = Communicator::alone();
  double told = 0.0;
  double truth = 0.0;
  constexpr std::uint64_t kSeeds = 1000;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    told += ridge_path(exact.released(kNoise, seed), {1.0, kDim}, {&kRidge, 1},
                       {.count = exact.count, .squared_targets = targets}, seed)
                .front()
                .loss /
            kSeeds;
    const Release louder = exact.released(kNoise * std::sqrt(1.25), seed + kSeeds);
    const double usual = 0.5 * noise_radius_of(louder.block("gram"), {1.0, kDim}) + 1.0;
    const double factor = kRidge / usual;
    truth += exact_loss(exact, solve_least_squares(alone, louder, {1.0, kDim}, 2, 0.5, {&factor, 1}).front(), targets) /
             kSeeds;
  }
  EXPECT_NEAR(told / truth, 1.0, 0.05);
}

}  // namespace
}  // namespace dpreduce
