#include "aggregator/solvers/mean_classifier.hpp"
#include "tests/testing.hpp"

namespace dpreduce::fisher_rule_test {

constexpr std::size_t kDim = 12;
const Lattice kLattice{8.0, kDim};

struct Rows {
  std::vector<std::vector<double>> x;
  std::vector<std::size_t> y;
};

// Class c around 0.3 c in every third feature, with a variance of its own in each feature.
Rows some_rows(const std::vector<std::size_t>& class_rows, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  Rows rows;
  for (std::size_t c = 0; c < class_rows.size(); ++c) {
    for (std::size_t i = 0; i < class_rows[c]; ++i) {
      std::vector<double> x(kDim);
      for (std::size_t a = 0; a < kDim; ++a) {
        x[a] = (a % 3 == 0 ? 0.3 * static_cast<double>(c) : 0.0) + 0.1 * static_cast<double>(a + 1) * normal(engine);
      }
      rows.x.push_back(x);
      rows.y.push_back(c);
    }
  }
  return rows;
}

struct Noise {
  double sums = 0.0;
  double moments = 0.0;
  double counts = 0.0;
};

// Exact sums of the rows in lattice units, with Gaussian noise.
Release released(const Rows& rows, std::size_t classes, const Noise& noise, unsigned seed) {
  std::vector<double> sums(classes * kDim, 0.0);
  std::vector<double> moments(kDim, 0.0);
  std::vector<double> counts(classes, 0.0);
  for (std::size_t i = 0; i < rows.x.size(); ++i) {
    for (std::size_t a = 0; a < kDim; ++a) {
      const double q = std::round(rows.x[i][a] * kLattice.scale());
      sums[rows.y[i] * kDim + a] += q;
      moments[a] += q * q;
    }
    counts[rows.y[i]] += 1.0;
  }
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  const auto noised = [&](const char* name, const std::vector<double>& exact, double sigma) {
    std::vector<std::int64_t> values;
    for (const double value : exact) values.push_back(std::llround(value + sigma * normal(engine)));
    return ReleasedBlock(name, std::move(values), sigma);
  };
  return Release({noised("class_sums", sums, noise.sums), noised("second_moments", moments, noise.moments),
                  noised("class_counts", counts, noise.counts)});
}

// Definition 4 with equation 5, written out: (x - (m_1 + m_0) / 2) S^-1 (m_1 - m_0), S the mean of both classes' sample
// variances. Ours divides by n where the paper divides by n - 2.
TEST(FisherRule, OfTwoEqualClassesIsThePapersRule) {
  const Rows rows = some_rows({50, 50}, 1);
  const LinearScores scores = solve_fisher_rule(released(rows, 2, {}, 0), kLattice, 0, SelectBy::kDistance);
  std::vector<double> means(2 * kDim, 0.0);
  for (std::size_t e = 0; e < 100 * kDim; ++e) {
    means[rows.y[e / kDim] * kDim + e % kDim] += rows.x[e / kDim][e % kDim] / 50.0;
  }
  std::vector<double> variances(kDim, 0.0);
  for (std::size_t e = 0; e < 100 * kDim; ++e) {
    const double deviation = rows.x[e / kDim][e % kDim] - means[rows.y[e / kDim] * kDim + e % kDim];
    variances[e % kDim] += deviation * deviation / 49.0 / 2.0;
  }
  for (const std::vector<double>& x : some_rows({20, 20}, 2).x) {
    double paper = 0.0;
    double ours = scores.bias[1] - scores.bias[0];
    for (std::size_t a = 0; a < kDim; ++a) {
      paper += (x[a] - (means[a] + means[kDim + a]) / 2.0) / variances[a] * (means[kDim + a] - means[a]);
      ours += (scores.weights[kDim + a] - scores.weights[a]) * x[a];
    }
    EXPECT_NEAR(ours, paper * 100.0 / 98.0, 1e-2);
  }
}

// Two features differ between the classes: the wider one by more, the narrower one by more standard deviations.
TEST(FisherRule, SelectionByDistanceAndByTDiffer) {
  Rows rows;
  std::mt19937 engine(4);
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < 4000; ++i) {
    const std::size_t c = i % 2;
    std::vector<double> x(kDim);
    for (double& entry : x) entry = 0.3 * normal(engine);
    x[4] = 0.5 * static_cast<double>(c) + 0.1 * normal(engine);
    x[9] = 1.0 * static_cast<double>(c) + 0.5 * normal(engine);
    rows.x.push_back(x);
    rows.y.push_back(c);
  }
  const Release sums = released(rows, 2, {}, 0);
  for (const auto& [by, kept] : {std::pair<SelectBy, std::size_t>{SelectBy::kDistance, 9}, {SelectBy::kT, 4}}) {
    const LinearScores scores = solve_fisher_rule(sums, kLattice, 1, by);
    for (std::size_t a = 0; a < kDim; ++a) {
      EXPECT_EQ(scores.weights[kDim + a] != 0.0 || scores.weights[a] != 0.0, a == kept) << to_string(by) << " " << a;
    }
  }
}

TEST(FisherRule, NoiseAboveTheVariancesMakesThemAlike) {
  const Rows rows = some_rows({200, 200}, 5);
  const double unit = kLattice.scale();
  const LinearScores exact = solve_fisher_rule(released(rows, 2, {}, 6), kLattice, 0, SelectBy::kDistance);
  const LinearScores noised =
      solve_fisher_rule(released(rows, 2, {0.0, 4000.0 * unit * unit, 0.0}, 6), kLattice, 0, SelectBy::kDistance);
  // Weights are m / D: their ratio to the exact means is 1 / D up to a factor.
  std::vector<double> inverse_variances;
  for (std::size_t a = 0; a < kDim; ++a) {
    EXPECT_TRUE(std::isfinite(noised.weights[a]));
    inverse_variances.push_back((noised.weights[kDim + a] - noised.weights[a]) /
                                (exact.weights[kDim + a] - exact.weights[a]) /
                                (0.01 * static_cast<double>((a + 1) * (a + 1))));
  }
  const auto [least, most] = std::ranges::minmax(inverse_variances);
  EXPECT_GT(least, 0.0);
  EXPECT_LT(most / least, 2.0) << "the exact ones differ by a factor of 144";
}

TEST(FisherRule, NothingButNoiseGivesFiniteScores) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const LinearScores scores = solve_fisher_rule(released({}, 3, {1e6, 1e11, 30.0}, seed), kLattice, 4, SelectBy::kT);
    for (const double entry : scores.weights) EXPECT_TRUE(std::isfinite(entry));
    for (const double entry : scores.bias) EXPECT_TRUE(std::isfinite(entry));
  }
}

}  // namespace dpreduce::fisher_rule_test
