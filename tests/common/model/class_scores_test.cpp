#include "common/model/classifier.hpp"
#include "tests/testing.hpp"

namespace dpreduce::class_scores_test {

std::vector<double> normals(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

TEST(ClassScores, ATwoByTwoProductByHand) {
  const std::vector<double> matrix = {1, 2, 3, 4};  // classes (1, 2) and (3, 4)
  const std::vector<double> rows = {5, 6, 7, 8};
  std::vector<double> scores(4);
  ClassScores(matrix, 2, 2)(rows, scores);
  EXPECT_EQ(scores, (std::vector<double>{17, 39, 23, 53}));
  std::vector<double> none;
  EXPECT_NO_THROW(ClassScores(matrix, 2, 2)(none, none)) << "no rows";
}

class ClassScoresOfSize : public ::testing::TestWithParam<std::tuple<std::size_t, std::size_t, std::size_t>> {};

// Not approximately: the sum's order is part of the promise.
TEST_P(ClassScoresOfSize, EqualThePlainLoopBitForBit) {
  const auto [n, classes, dim] = GetParam();
  const std::vector<double> matrix = normals(classes * dim, 1);
  const std::vector<double> rows = normals(n * dim, 2);
  std::vector<double> scores(n * classes);
  ClassScores(matrix, classes, dim)(rows, scores);
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t label = 0; label < classes; ++label) {
      double sum = 0.0;
      for (std::size_t a = 0; a < dim; ++a) sum += rows[row * dim + a] * matrix[label * dim + a];
      EXPECT_EQ(std::memcmp(&scores[row * classes + label], &sum, sizeof sum), 0) << row << ' ' << label;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ClassScoresOfSize,
                         ::testing::Combine(::testing::Values(1, 2, 3, 33), ::testing::Values(1, 2, 7, 8, 9, 24, 51),
                                            ::testing::Values(1, 2, 5, 64, 129)));

TEST(ClassScores, WrongSizesAreOurOwnBug) {
  const std::vector<double> six(6);
  std::vector<double> four(4);
  EXPECT_THROW(ClassScores(six, 2, 2), std::logic_error);
  EXPECT_THROW(ClassScores(six, 2, 3)(four, four), std::logic_error);
  EXPECT_THROW(ClassScores(six, 3, 2)(six, four), std::logic_error);
}

TEST(Probabilities, SoftmaxIsOfAllScoresTogether) {
  std::vector<double> scores = {std::log(1.0), std::log(2.0), std::log(5.0)};
  to_probabilities(Link::kSoftmax, scores);
  EXPECT_NEAR(scores[0], 0.125, 1e-15);
  EXPECT_NEAR(scores[1], 0.25, 1e-15);
  EXPECT_NEAR(scores[2], 0.625, 1e-15);
}

TEST(Probabilities, SigmoidIsOfEachScoreByItself) {
  std::vector<double> scores = {0.0, std::log(3.0), -std::log(3.0)};
  to_probabilities(Link::kSigmoid, scores);
  EXPECT_DOUBLE_EQ(scores[0], 0.5);
  EXPECT_NEAR(scores[1], 0.75, 1e-15);
  EXPECT_NEAR(scores[2], 0.25, 1e-15);
}

TEST(Probabilities, LargeScoresEndAtZeroAndOne) {
  for (const Link link : {Link::kSoftmax, Link::kSigmoid}) {
    std::vector<double> scores = {1e4, -1e4};
    to_probabilities(link, scores);
    EXPECT_EQ(scores, (std::vector<double>{1.0, 0.0}));
  }
}

}  // namespace dpreduce::class_scores_test
