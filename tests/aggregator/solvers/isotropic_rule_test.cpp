// Class means or rounds: the rule, what it expects of runs, and scores by class means.
#include "aggregator/solvers/isotropic_rule.hpp"

#include "common/lattice/lattice_rows.hpp"
#include "tests/aggregator/solvers/released_gram.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"

namespace dpreduce::isotropic_rule_test {

constexpr std::size_t kDirections = 8;
constexpr double kRow = 32767.0 * 32767.0;

// A diagonal matrix.
ReleasedBlock gram(const std::vector<double>& rows, double sigma = 0.0) {
  const auto entry = [&](std::size_t a, std::size_t b) { return a == b ? rows[a] : 0.0; };
  return released_gram(kDirections, kRow, sigma, entry);
}

// The same with symmetric noise.
ReleasedBlock noised(const std::vector<double>& rows, double sigma, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0.0, sigma);
  const auto entry = [&](std::size_t a, std::size_t b) {
    return a == b ? rows[a] + normal(random) : normal(random) / std::sqrt(2.0);
  };
  return released_gram(kDirections, kRow, sigma, entry);
}

// n rows whose shares of 8 directions have that excess: every second is larger by as much as the others are smaller.
std::vector<double> shares(double n, double excess) {
  std::vector<double> rows(kDirections);
  const double off = std::sqrt(excess / kDirections);
  for (std::size_t a = 0; a < kDirections; ++a) rows[a] = n * (1.0 / kDirections + (a % 2 == 0 ? off : -off));
  return rows;
}

TEST(Isotropy, IsTheExcessOfSquaredShares) {
  EXPECT_NEAR(isotropy_of(gram(shares(800, 0.0))).excess, 0.0, 1e-12);
  EXPECT_NEAR(isotropy_of(gram(shares(800, 0.02))).excess, 0.02, 1e-9);
  EXPECT_NEAR(isotropy_of(gram({500, 0, 0, 0, 0, 0, 0, 0})).excess, 1.0 - 1.0 / 8.0, 1e-9);
  EXPECT_NEAR(isotropy_of(gram(shares(800, 0.02))).rows, 800, 1e-6);
  EXPECT_EQ(isotropy_of(gram(shares(1, 0.0), 1000)).rows, 1000 * std::sqrt(8.0)) << "below its noise";
}

TEST(Isotropy, LosesTheKnownEnergyOfItsNoise) {
  std::mt19937_64 random(5);
  for (const double truth : {0.0, 0.03}) {
    DrawnMoments excess;
    for (int draw = 0; draw < 4000; ++draw) excess.add(isotropy_of(noised(shares(1000, truth), 30, random)).excess);
    EXPECT_NEAR(excess.mean(), truth, 0.003);
    if (truth == 0.0) {
      EXPECT_NEAR(excess.deviation() / isotropy_of(gram(shares(1000, 0.0), 30)).noise, 1.0, 0.1);
    }
  }
}

constexpr double kShare = 0.03;
constexpr std::size_t kDim = 64;
constexpr std::size_t kClasses = 5;

// Noise of the Gram matrix of a run of that mu, in rows.
double sigma_of(double mu) {
  return 1.0 / (mu * std::sqrt(kShare));
}

// Share of runs that take class means, whose excess is so many times 1 / d.
double share_of_means(double rows, double of_dim, double mu, std::size_t dim, std::size_t classes, int draws,
                      std::mt19937_64& random) {
  int means = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const ReleasedBlock released = noised(shares(rows, of_dim / static_cast<double>(dim)), sigma_of(mu), random);
    means += wants_means(isotropy_of(released), kShare, dim, classes) ? 1 : 0;
  }
  return static_cast<double>(means) / draws;
}

bool wants(double n, double excess, double mu) {
  return wants_means(isotropy_of(gram(shares(n, excess), mu > 0.0 ? sigma_of(mu) : 0.0)), kShare, kDim, kClasses);
}

TEST(WantsMeans, WhereRowsSpreadEvenlyAndTheyAreFew) {
  // The matrices have no noise, but the rule takes what they say for noised.
  const auto excess = [](double of_dim, double n, double mu) {
    return of_dim / kDim + 35.0 * std::pow(sigma_of(mu) / n, 2);  // that much is taken off
  };
  EXPECT_TRUE(wants(1000, excess(1.0, 1000, 0.27), 0.27));
  EXPECT_FALSE(wants(1000, excess(4.0, 1000, 0.27), 0.27)) << "a quarter of the directions";
  EXPECT_FALSE(wants(100, excess(1.0, 100, 0.27), 0.27)) << "noise hides the answer";
  EXPECT_FALSE(wants(10000, excess(1.0, 10000, 0.27), 0.27)) << "many rows";
  EXPECT_FALSE(wants(1000, 1.0 / kDim, 0.0)) << "no noise";
}

// By hand: means up to an excess of (1 + 4) / 2 / d - .3 v^2 d / 3, and up to n mu = 50 sqrt(d K).
TEST(WantsMeans, UpToTheBoundsOfTheRule) {
  const double most = 50.0 * std::sqrt(64.0 * 5.0) * 30.0 * std::sqrt(kShare);  // rows with that signal
  for (const double off : {-1e-6, 1e-6}) {
    for (const double noise : {0.0, 0.005, 0.01}) {
      const double bound = 2.5 / 64.0 - 0.3 * noise * noise * 64.0 / 3.0;
      const Isotropy isotropy{.rows = 1000, .excess = bound + off, .noise = noise, .sigma = 30};
      EXPECT_EQ(wants_means(isotropy, kShare, kDim, kClasses), off < 0.0) << noise << " " << off;
    }
    const Isotropy many{.rows = most * (1.0 + off), .excess = 0.0, .noise = 0.0, .sigma = 30};
    EXPECT_EQ(wants_means(many, kShare, kDim, kClasses), off < 0.0) << off;
  }
}

TEST(WantsMeans, AsOftenAsItWasSaid) {
  std::mt19937_64 random(6);
  const PlannedBlock planned{.name = "gram",
                             .elements = 36,
                             .squared_sensitivity = 1,
                             .sensitivity = 1,
                             .sigma = sigma_of(0.09) * kRow,
                             .mu = 1};
  for (const double rows : {700.0, 1000.0, 2000.0}) {
    const MeansForecast said = means_forecast(rows, planned, kShare, kDim, kClasses);
    EXPECT_NEAR(said.signal, rows * 0.09 / std::sqrt(kDim * kClasses), 1e-9);
    for (const auto& [of_dim, share] : {std::pair{1.0, said.even_rows}, std::pair{4.0, said.uneven_rows}}) {
      EXPECT_NEAR(share_of_means(rows, of_dim, 0.09, kDim, kClasses, 2000, random), share, 0.12)
          << rows << " " << of_dim;
    }
  }
  EXPECT_EQ(means_forecast(1e6, planned, kShare, kDim, kClasses).even_rows, 0.0);
}

// Real embeddings of 512 features have an excess of 10 / d. At n mu of 100 to 200 up to nine runs of a hundred took
// means for them before the bound counted the noise that their own excess has. 4000 draws of a chance of 1 % are 40,
// 60 or more with a chance of .2 %.
TEST(WantsMeans, NoiseAloneTakesThemInOneRunOfAHundred) {
  std::mt19937_64 random(8);
  for (const auto& [dim, even_ones] : {std::pair<std::size_t, double>{512, 0.65}, {64, 0.99}}) {
    for (const double signal : {20.0, 50.0, 100.0, 150.0, 200.0, 300.0}) {
      EXPECT_LT(share_of_means(signal / 0.27, 10.0, 0.27, dim, 20, 4000, random), 0.015) << dim << " " << signal;
    }
    EXPECT_GT(share_of_means(300.0 / 0.27, 1.0, 0.27, dim, 20, 4000, random), even_ones) << "clusters still take them";
  }
}

// Two features and an intercept: gradient = -(D_c, n_c - n / K) in the coordinates of prepared rows.
std::vector<double> gradient_of(const std::vector<std::array<double, 2>>& sums, const std::vector<double>& sizes,
                                const Preprocessing& rows) {
  std::vector<double> gradient;
  const double count = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  for (std::size_t c = 0; c < sums.size(); ++c) {
    for (const double entry : sums[c]) gradient.push_back(-entry * std::sqrt(1.0 - rows.intercept));
    gradient.push_back(-(sizes[c] - count / static_cast<double>(sizes.size())) * std::sqrt(rows.intercept) *
                       rows.clip_norm);
  }
  return gradient;
}

LinearScores scores(const std::vector<std::array<double, 2>>& sums, const std::vector<double>& sizes, double sigma,
                    double clip_norm = 1.0) {
  Preprocessing rows{.input_dim = 2, .clip_norm = clip_norm, .center = {}, .intercept = 0.05};
  const double count = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  return fold_intercept(scores_of_class_means(gradient_of(sums, sizes, rows), sigma, count, rows), rows);
}

// The formula, for two classes and two features: r = L^2 / (L^2 + d s_m^2), t = L sqrt(r) / (w + (1 - r) L^2 / d), with
// L^2 the squared sums less K d s^2, and no less than the deviation of that, s^2 sqrt(2 K d); s_m = s K / n.
TEST(ScoresOfClassMeans, TakeTheKnownNoiseOutOfTheLengthOfMeansButNoMoreThanItHides) {
  for (const auto& [sum, sigma] :
       {std::pair{50.0, 0.0}, {60.0, 3.0}, {60.0, 20.0}, {20.0, 20.0}, {1.0, 20.0}, {1.0, 0.5}}) {
    const double s = sigma / std::sqrt(0.95);
    const double energy = std::max(2.0 * sum * sum - 4.0 * s * s, s * s * std::sqrt(8.0));
    const double length = std::min(energy / (200.0 * 200.0 / 2.0), 0.9);
    const double kept = length / (length + 2.0 * std::pow(s * 2.0 / 200.0, 2));
    const double rate = std::sqrt(length * kept) / ((1.0 - length) / 2.0 + (1.0 - kept) * length / 2.0);
    const LinearScores told = scores({{sum, 0}, {0, -sum}}, {100, 100}, sigma);
    EXPECT_NEAR(told.weights[0], rate, 1e-9) << sum << " " << sigma;
    EXPECT_NEAR(told.weights[3], -rate, 1e-9) << sum << " " << sigma;
    EXPECT_NEAR(told.bias[0], told.bias[1], 1e-12) << sum << " " << sigma;
  }
}

// log(max(n_c, 1) + 2 s_c), s_c the noise of a size.
TEST(ScoresOfClassMeans, ASizeIsBlurredByTwiceItsNoise) {
  for (const double sigma : {0.0, 3.0, 40.0}) {
    const double blur = 2.0 * sigma / std::sqrt(0.05);
    const LinearScores told = scores({{75, 0}, {-25, 0}}, {150, 50}, sigma);
    EXPECT_NEAR(told.bias[0] - told.bias[1], std::log((150.0 + blur) / (50.0 + blur)), 1e-9) << sigma;
    EXPECT_NEAR(told.weights[0], -told.weights[2], 1e-9) << "of one length, " << sigma;
    const LinearScores none = scores({{75, 0}, {-25, 0}}, {203, -3}, sigma);
    EXPECT_NEAR(none.bias[0] - none.bias[1], std::log((203.0 + blur) / (1.0 + blur)), 1e-9) << sigma;
  }
}

TEST(ScoresOfClassMeans, KeepTheirUnitsAndWithoutSumsNoFeatureCounts) {
  const LinearScores one = scores({{50, 0}, {0, 50}}, {100, 100}, 3.0);
  const LinearScores ten = scores({{500, 0}, {0, 500}}, {100, 100}, 30.0, 10.0);
  for (std::size_t e = 0; e < one.weights.size(); ++e) EXPECT_NEAR(ten.weights[e], one.weights[e] / 10.0, 1e-9);
  for (std::size_t c = 0; c < 2; ++c) EXPECT_NEAR(ten.bias[c], one.bias[c], 1e-9);
  for (const LinearScores& none : {scores({{0, 0}, {0, 0}}, {0, 0}, 1.0), scores({{0, 0}, {0, 0}}, {1, 1}, 0.0)}) {
    for (const double entry : none.weights) EXPECT_EQ(entry, 0.0);
    for (const double entry : none.bias) EXPECT_TRUE(std::isfinite(entry));
  }
}

}  // namespace dpreduce::isotropic_rule_test
