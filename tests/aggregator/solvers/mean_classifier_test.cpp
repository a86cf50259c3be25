#include "aggregator/solvers/mean_classifier.hpp"

#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"

namespace dpreduce::mean_classifier_test {

// d = 4 and C = 1, so that a feature unit is 32766 lattice units.
const Lattice kMeanLattice{1.0, 4};
constexpr std::int64_t kUnit = 32766;

Release class_means(std::vector<std::int64_t> sums, std::vector<std::int64_t> counts, double sigma = 0.0) {
  std::vector<ReleasedBlock> blocks;
  blocks.emplace_back("class_sums", std::move(sums), sigma);
  if (!counts.empty()) blocks.emplace_back("class_counts", std::move(counts), sigma);
  return Release(std::move(blocks));
}

TEST(MeanClassifier, CosineWeightsAreUnitDirectionsOfTheSumsAndZeroWithoutADirection) {
  const LinearScores scores =
      solve_mean_classifier(class_means({3, 0, 4, 0, 0, 0, 0, 0}, {}), kMeanLattice, Metric::kCosine);
  EXPECT_EQ(scores.weights, (std::vector<double>{0.6, 0.0, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0}));
  EXPECT_EQ(scores.bias, (std::vector<double>{0.0, 0.0}));
}

TEST(MeanClassifier, NoisyCountsAreClampedAndMeansPulledIntoTheBall) {
  const LinearScores scores = solve_mean_classifier(class_means({5 * kUnit, 0, 0, 0, 0, kUnit, 0, 0}, {-3, 0}),
                                                    kMeanLattice, Metric::kEuclidean);
  EXPECT_NEAR(scores.weights[0], 1.0, 1e-9) << "five units over a count of one, pulled to the clip norm";
  EXPECT_NEAR(scores.weights[5], 1.0, 1e-9);
}

TEST(MeanClassifier, TheNoisesShareOfASquaredMeanIsTakenOut) {
  const double sigma = 0.1 * kUnit;  // energy 4 * 0.01 a mean of one row
  const LinearScores noised = solve_mean_classifier(class_means({kUnit / 2, 0, 0, 0, 0, 100, 0, 0}, {1, 1}, sigma),
                                                    kMeanLattice, Metric::kEuclidean);
  EXPECT_NEAR(noised.bias[0], -0.5 * (0.25 - 0.04), 1e-3);
  EXPECT_EQ(noised.bias[1], 0.0) << "never positive";
}

TEST(MeanClassifier, SelectedFeaturesAreTheDistantOnesAndScoreAlone) {
  const Release differ_in_two = class_means({3, 9, 4, 0, -3, 9, 4, 1}, {});
  EXPECT_THAT(select_features(differ_in_two, kMeanLattice, 2), ElementsAre(0, 3));
  const LinearScores cosine = solve_mean_classifier(differ_in_two, kMeanLattice, Metric::kCosine, 2);
  EXPECT_EQ(cosine.weights,
            (std::vector<double>{1.0, 0.0, 0.0, 0.0, -3.0 / std::sqrt(10.0), 0.0, 0.0, 1.0 / std::sqrt(10.0)}));
  const LinearScores euclidean =
      solve_mean_classifier(class_means({kUnit / 2, kUnit / 4, 0, 0, -kUnit / 2, kUnit / 4, 0, 0}, {1, 1}, 0.1 * kUnit),
                            kMeanLattice, Metric::kEuclidean, 1);
  EXPECT_EQ(euclidean.weights[1], 0.0);
  EXPECT_NEAR(euclidean.weights[4], -0.5, 1e-3);
  EXPECT_NEAR(euclidean.bias[0], -0.5 * (0.25 - 0.01), 1e-3) << "the noise of one feature";
}

TEST(ClassDistances, AreSumsOverPairsOfClasses) {
  std::mt19937 engine(1);
  constexpr std::size_t kDim = 7;
  for (const std::size_t classes : {2U, 3U, 10U}) {
    const std::vector<double> means = normal_numbers(engine, classes * kDim);
    const std::vector<double> distances = class_distances(means, kDim);
    ASSERT_EQ(distances.size(), kDim);
    for (std::size_t a = 0; a < kDim; ++a) {
      double expected = 0.0;
      for (std::size_t c = 0; c < classes; ++c) {
        for (std::size_t e = c + 1; e < classes; ++e) expected += std::abs(means[c * kDim + a] - means[e * kDim + a]);
      }
      EXPECT_NEAR(distances[a], expected, 1e-12);
    }
  }
}

TEST(LargestFeatures, AreThoseWithTheLargestScoresInRisingOrderAndTheOthersAreZeroedInEveryRow) {
  std::vector<double> rows = {1, 2, 3, 4, 5, 6};
  keep_features(rows, 3, std::vector<std::size_t>{0, 2});
  EXPECT_THAT(rows, ElementsAre(1, 0, 3, 4, 0, 6));
  const std::vector<double> scores = {1.0, 5.0, 3.0, 5.0, 4.0};
  EXPECT_THAT(largest_features(scores, 3), ElementsAre(1, 3, 4));
  EXPECT_THAT(largest_features(scores, 1), ElementsAre(1)) << "of equal ones the first";
  EXPECT_THAT(largest_features(scores, 5), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THROW(largest_features(scores, 6), std::logic_error);
}

}  // namespace dpreduce::mean_classifier_test
