#include "aggregator/solvers/public_refit.hpp"

#include "aggregator/solvers/gram_spectrum.hpp"
#include "common/data/worker_rows.hpp"
#include "tests/aggregator/solvers/released_gram.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"

namespace dpreduce::public_refit_test {

constexpr std::size_t kRefitDim = 16;

// m rows of two classes about +-0.6 e_0, the second class `ratio` times rarer; the truth in labels.
std::vector<float> two_classes(std::size_t rows, std::size_t ratio, std::vector<int>& truth) {
  std::mt19937_64 random(7);
  std::vector<float> x = normal_numbers(random, rows * kRefitDim, 0.2f);
  for (std::size_t row = 0; row < rows; ++row) {
    truth.push_back(row % (ratio + 1) == 0 ? 1 : 0);
    x[row * kRefitDim] += truth.back() == 0 ? 0.6f : -0.6f;
  }
  return x;
}

class PublicRefit : public testing::Test {
 protected:
  // Scores of which a third is along e_0, the rest noise.
  static LinearScores noisy_scores() {
    std::mt19937_64 random(3);
    LinearScores scores{normal_numbers(random, 2 * kRefitDim), {0.0, 0.0}};
    scores.weights[0] += 1.5;
    scores.weights[kRefitDim] -= 1.5;
    return scores;
  }

  static double balanced_accuracy(const LinearScores& scores, const std::vector<float>& x,
                                  const std::vector<int>& truth) {
    double right[2] = {0, 0};
    double all[2] = {0, 0};
    for (std::size_t row = 0; row < truth.size(); ++row) {
      double difference = scores.bias[1] - scores.bias[0];
      for (std::size_t a = 0; a < kRefitDim; ++a)
        difference += (scores.weights[kRefitDim + a] - scores.weights[a]) * double{x[row * kRefitDim + a]};
      all[truth[row]] += 1;
      right[truth[row]] += (difference > 0) == (truth[row] == 1) ? 1 : 0;
    }
    return 0.5 * (right[0] / all[0] + right[1] / all[1]);
  }

  // On those rows, as they are.
  LinearScores refit(const std::vector<float>& x, const LinearScores& scores = noisy_scores(),
                     std::uint64_t most_posteriors = kMostPosteriors) const {
    write_npy(folder_ / "x.npy", x, kRefitDim);
    WorkerRows rows = WorkerRows::open({folder_ / "x.npy"}, {}, 0, 1);
    const Preprocessing as_they_are{
        .input_dim = kRefitDim, .normalize = Normalize::kNone, .clip_norm = 100.0, .center = {}};
    return with_public_refit(scores, as_they_are, rows.features(), most_posteriors);
  }

  TemporaryFolder folder_;
};

TEST_F(PublicRefit, TakesNoiseOutOfScoresWhateverThePublicMix) {
  for (const std::size_t ratio : {1u, 10u}) {
    std::vector<int> truth;
    const std::vector<float> x = two_classes(4000, ratio, truth);
    const double before = balanced_accuracy(noisy_scores(), x, truth);
    EXPECT_LT(before, 0.97) << ratio;
    EXPECT_GT(balanced_accuracy(refit(x), x, truth), before + 0.01) << ratio;
  }
}

// By hand: scores so sure that posteriors are the truth; then t is linear discriminant analysis of the labeled rows.
// Two rows at +-1 along each of two axes and a class each: D = diag of what is left about the means.
TEST_F(PublicRefit, OfCertainScoresIsLinearDiscriminantAnalysis) {
  std::vector<float> x(4 * kRefitDim, 0.0f);
  for (std::size_t row = 0; row < 4; ++row) {
    x[row * kRefitDim] = row < 2 ? 1.0f : -1.0f;
    x[row * kRefitDim + 1] = row % 2 == 0 ? 1.0f : -1.0f;
  }
  LinearScores scores{std::vector<double>(2 * kRefitDim, 0.0), {0.0, 0.0}};
  scores.weights[0] = 500.0;
  scores.weights[kRefitDim] = -500.0;
  const LinearScores refined = refit(x, scores);
  // mu = +-e_0, D = e_1 e_1^T, tr(D) / m = 1/4: E mu = +-4 e_0, mu^T E mu / 2 = 2.
  EXPECT_NEAR(refined.weights[0], 504.0, 1e-9);
  EXPECT_NEAR(refined.weights[kRefitDim], -504.0, 1e-9);
  EXPECT_NEAR(refined.weights[1], 0.0, 1e-9);
  EXPECT_NEAR(refined.bias[0], -2.0, 1e-9);
  EXPECT_NEAR(refined.bias[1], -2.0, 1e-9);
}

TEST_F(PublicRefit, LeavesOutRowsThatAreNotFinite) {
  std::vector<int> truth;
  std::vector<float> x = two_classes(600, 1, truth);
  const LinearScores expected = refit(x);
  x.insert(x.end(), kRefitDim, std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(refit(x).weights, testing::Pointwise(testing::DoubleNear(1e-9), expected.weights));
  const std::vector<float> none(kRefitDim, std::numeric_limits<float>::infinity());
  EXPECT_EQ(refit(none).weights, noisy_scores().weights);
}

// 1,500 rows in blocks of 512, one in two: the first and the third, of 476 rows.
TEST_F(PublicRefit, LooksAtOneBlockInSeveralWhereItsMemoryIsBounded) {
  std::vector<int> truth;
  const std::vector<float> x = two_classes(1500, 1, truth);
  std::vector<float> shown(x.begin(), x.begin() + 512 * kRefitDim);
  shown.insert(shown.end(), x.begin() + 1024 * kRefitDim, x.end());
  const LinearScores bounded = refit(x, noisy_scores(), 2 * 1499);
  EXPECT_EQ(bounded.weights, refit(shown).weights);
  EXPECT_NE(bounded.weights, refit(x, noisy_scores(), 2 * 1500).weights);
  EXPECT_LT(public_refit_bytes(1000, 100, 100'000'000), std::size_t{5} << 28);
}

// A released Gram matrix, cleaned about that of public rows that are alike, and of others.

constexpr std::size_t kDim = 60;
const Lattice kLattice{1.0, kDim};
const double kUnit = kLattice.scale() * kLattice.scale();

// `rows` rows whose second moment falls as 1 / (j + 1) along features, from number `first` on.
std::vector<double> moments(double rows, std::size_t first) {
  std::vector<double> diagonal(kDim);
  double sum = 0.0;
  for (std::size_t j = 0; j < kDim; ++j) sum += diagonal[(first + j) % kDim] = 1.0 / static_cast<double>(j + 1);
  for (double& entry : diagonal) entry *= rows / sum;
  return diagonal;
}

ReleasedBlock gram_of(const std::vector<double>& diagonal, double sigma, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0.0, sigma);
  return released_gram(kDim, kUnit, sigma, [&](std::size_t a, std::size_t b) {
    const double noise = sigma > 0.0 ? normal(random) / (a == b ? 1.0 : std::sqrt(2.0)) : 0.0;
    return (a == b ? diagonal[a] : 0.0) + noise;
  });
}

// |G^ - G|_F / |G|_F
double error_of(const std::vector<double>& matrix, const std::vector<double>& diagonal) {
  double error = 0.0;
  double size = 0.0;
  for (std::size_t a = 0; a < kDim; ++a) {
    for (std::size_t b = a; b < kDim; ++b) {
      const double truth = a == b ? diagonal[a] : 0.0;
      error += (a == b ? 1.0 : 2.0) * std::pow(matrix[a * kDim + b] - truth, 2);
      size += truth * truth;
    }
  }
  return std::sqrt(error / size);
}

struct Errors {
  double alone = 0.0;  // of the matrix that is cleaned alone
  double about_public = 0.0;
};
Errors errors(double rows, double sigma, double public_rows, std::size_t first_of_public) {
  std::mt19937_64 random(58);
  const std::vector<double> diagonal = moments(rows, 0);
  const ReleasedBlock released = gram_of(diagonal, sigma, random);
  const ReleasedBlock of_public = gram_of(moments(public_rows, first_of_public), 0.0, random);
  const ReleasedBlock found = gram_about_public(released, of_public, kLattice);
  const GramSpectrum spectrum(released, kLattice);
  std::vector<double> identity(kDim * kDim, 0.0);
  for (std::size_t a = 0; a < kDim; ++a) identity[a * kDim + a] = 1.0;
  const std::vector<double> g(spectrum.eigenvalues().begin(), spectrum.eigenvalues().end());
  return {error_of(spectrum.rows_of(spectrum.coordinates(identity), g), diagonal),
          error_of(gram_in_units(found, kLattice), diagonal)};
}

TEST(PublicTarget, RowsThatAreAlikeTakeMostOfTheNoiseAway) {
  const Errors found = errors(1000, 5, 1e5, 0);
  EXPECT_GT(found.alone, 0.3);
  EXPECT_LT(found.about_public, 0.5 * found.alone);
}

TEST(PublicTarget, OtherRowsAreCorrectedWhereTheReleaseShowsIt) {
  const Errors found = errors(1000, 2, 1e5, 7);
  EXPECT_LT(found.alone, 0.25);
  EXPECT_LT(found.about_public, 1.4 * found.alone) << "the public matrix itself is wrong by more than its size";
}

TEST(PublicTarget, FewPublicRowsSayLittle) {
  std::mt19937_64 random(59);
  const ReleasedBlock noise = gram_of(std::vector<double>(kDim, 0.0), 40, random);
  const auto uneven = [&](double public_rows) {
    std::vector<double> one(kDim, 0.0);
    one[0] = public_rows;
    one[1] = public_rows / 2;
    const std::vector<double> matrix =
        gram_in_units(gram_about_public(noise, gram_of(one, 0.0, random), kLattice), kLattice);
    return matrix[0] / std::abs(matrix[2 * kDim + 2]);
  };
  EXPECT_LT(uneven(2), uneven(2000));
}

TEST(PublicTarget, WithoutNoiseNothingChanges) {
  std::mt19937_64 random(60);
  const ReleasedBlock exact = gram_of(moments(1000, 0), 0.0, random);
  const ReleasedBlock found = gram_about_public(exact, gram_of(moments(50, 7), 0.0, random), kLattice);
  EXPECT_TRUE(std::ranges::equal(found.values(), exact.values()));
  EXPECT_EQ(gram_about_public(gram_of(moments(1000, 0), 5.0, random), exact, kLattice).sigma(), 0.2 * 5.0 * kUnit);
}

}  // namespace dpreduce::public_refit_test
