#include "aggregator/solvers/linear_scores.hpp"

#include "tests/testing.hpp"

namespace dpreduce::linear_scores_test {

TEST(ClassDistances, AreSumsOverPairsOfClasses) {
  std::mt19937 engine(1);
  std::normal_distribution<double> normal;
  constexpr std::size_t kDim = 7;
  for (const std::size_t classes : {2U, 3U, 10U}) {
    std::vector<double> means(classes * kDim);
    for (double& entry : means) entry = normal(engine);
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

TEST(LargestFeatures, AreThoseWithTheLargestScoresInRisingOrder) {
  const std::vector<double> scores = {1.0, 5.0, 3.0, 5.0, 4.0};
  EXPECT_EQ(largest_features(scores, 3), (std::vector<std::size_t>{1, 3, 4}));
  EXPECT_EQ(largest_features(scores, 1), std::vector<std::size_t>{1}) << "of equal ones the first";
  EXPECT_EQ(largest_features(scores, 5), (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  EXPECT_THROW(largest_features(scores, 6), std::logic_error);
}

TEST(KeepFeatures, ZeroesTheOthersInEveryRow) {
  std::vector<double> rows = {1, 2, 3, 4, 5, 6};
  keep_features(rows, 3, std::vector<std::size_t>{0, 2});
  EXPECT_EQ(rows, (std::vector<double>{1, 0, 3, 4, 0, 6}));
}

}  // namespace dpreduce::linear_scores_test
