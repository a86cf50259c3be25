#include "aggregator/solvers/public_refit.hpp"

#include "common/data/worker_rows.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::public_refit_test {

constexpr std::size_t kRefitDim = 16;

// m rows of two classes about +-0.6 e_0, the second class `ratio` times rarer; the truth in labels.
std::vector<float> two_classes(std::size_t rows, std::size_t ratio, std::vector<int>& truth) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> noise(0.0f, 0.2f);
  std::vector<float> x(rows * kRefitDim);
  for (float& entry : x) entry = noise(random);
  for (std::size_t row = 0; row < rows; ++row) {
    truth.push_back(row % (ratio + 1) == 0 ? 1 : 0);
    x[row * kRefitDim] += truth.back() == 0 ? 0.6f : -0.6f;
  }
  return x;
}

class PublicRefit : public testing::Test {
 protected:
  WorkerRows rows_of(const std::vector<float>& x) const {
    const std::string path = folder_ / fmt::format("x{}.npy", x.size());
    write_npy(path, x, kRefitDim);
    return WorkerRows::open({path}, {}, 0, 1);
  }

  static Preprocessing as_they_are() {
    return {.input_dim = kRefitDim, .normalize = Normalize::kNone, .clip_norm = 100.0, .center = {}};
  }

  // Scores of which a third is along e_0, the rest noise.
  static LinearScores noisy_scores() {
    LinearScores scores{std::vector<double>(2 * kRefitDim, 0.0), {0.0, 0.0}};
    std::mt19937_64 random(3);
    std::normal_distribution<double> noise(0.0, 1.0);
    for (double& entry : scores.weights) entry = noise(random);
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
        difference += (scores.weights[kRefitDim + a] - scores.weights[a]) * static_cast<double>(x[row * kRefitDim + a]);
      all[truth[row]] += 1;
      right[truth[row]] += (difference > 0) == (truth[row] == 1) ? 1 : 0;
    }
    return 0.5 * (right[0] / all[0] + right[1] / all[1]);
  }

  TemporaryFolder folder_;
};

TEST_F(PublicRefit, TakesNoiseOutOfScoresWhateverThePublicMix) {
  for (const std::size_t ratio : {1u, 10u}) {
    std::vector<int> truth;
    const std::vector<float> x = two_classes(4000, ratio, truth);
    WorkerRows rows = rows_of(x);
    const double before = balanced_accuracy(noisy_scores(), x, truth);
    const double after = balanced_accuracy(with_public_refit(noisy_scores(), as_they_are(), rows.features()), x, truth);
    EXPECT_LT(before, 0.97) << ratio;
    EXPECT_GT(after, before + 0.01) << ratio;
  }
}

// By hand: scores so sure that posteriors are the truth; then t is linear discriminant analysis of the labeled rows.
// Two rows at +-1 along each of two axes and a class each: D = diag of what is left about the means.
TEST_F(PublicRefit, OfCertainScoresIsLinearDiscriminantAnalysis) {
  std::vector<float> x(4 * kRefitDim, 0.0f);
  x[0 * kRefitDim] = 1.0f, x[0 * kRefitDim + 1] = 1.0f;
  x[1 * kRefitDim] = 1.0f, x[1 * kRefitDim + 1] = -1.0f;
  x[2 * kRefitDim] = -1.0f, x[2 * kRefitDim + 1] = 1.0f;
  x[3 * kRefitDim] = -1.0f, x[3 * kRefitDim + 1] = -1.0f;
  WorkerRows rows = rows_of(x);
  LinearScores scores{std::vector<double>(2 * kRefitDim, 0.0), {0.0, 0.0}};
  scores.weights[0] = 500.0;
  scores.weights[kRefitDim] = -500.0;
  const LinearScores refined = with_public_refit(scores, as_they_are(), rows.features());
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
  WorkerRows whole = rows_of(x);
  const LinearScores expected = with_public_refit(noisy_scores(), as_they_are(), whole.features());
  x.insert(x.end(), kRefitDim, std::numeric_limits<float>::quiet_NaN());
  WorkerRows more = rows_of(x);
  const LinearScores refined = with_public_refit(noisy_scores(), as_they_are(), more.features());
  for (std::size_t e = 0; e < expected.weights.size(); ++e)
    EXPECT_NEAR(refined.weights[e], expected.weights[e], 1e-9) << e;
  WorkerRows none = rows_of(std::vector<float>(kRefitDim, std::numeric_limits<float>::infinity()));
  EXPECT_EQ(with_public_refit(noisy_scores(), as_they_are(), none.features()).weights, noisy_scores().weights);
}

// 1,500 rows in blocks of 512, one in two: the first and the third, of 476 rows.
TEST_F(PublicRefit, LooksAtOneBlockInSeveralWhereItsMemoryIsBounded) {
  std::vector<int> truth;
  const std::vector<float> x = two_classes(1500, 1, truth);
  std::vector<float> shown(x.begin(), x.begin() + 512 * kRefitDim);
  shown.insert(shown.end(), x.begin() + 1024 * kRefitDim, x.end());
  WorkerRows all = rows_of(x);
  WorkerRows some = rows_of(shown);
  const LinearScores bounded = with_public_refit(noisy_scores(), as_they_are(), all.features(), 2 * 1499);
  EXPECT_EQ(bounded.weights, with_public_refit(noisy_scores(), as_they_are(), some.features()).weights);
  EXPECT_NE(bounded.weights, with_public_refit(noisy_scores(), as_they_are(), all.features(), 2 * 1500).weights);
  EXPECT_LT(public_refit_bytes(1000, 100, 100'000'000), std::size_t{5} << 28);
}

}  // namespace dpreduce::public_refit_test
