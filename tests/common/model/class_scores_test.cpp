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
  EXPECT_NO_THROW(ClassScores(matrix, 2, 2)({}, {})) << "no rows";
}

// Not approximately: the sum's order is part of the promise.
TEST(ClassScores, EqualThePlainLoopBitForBit) {
  for (const std::size_t n : {1, 2, 3, 33}) {
    for (const std::size_t classes : {1, 2, 7, 8, 9, 24, 51}) {
      for (const std::size_t dim : {1, 2, 5, 64, 129}) {
        const std::vector<double> matrix = normals(classes * dim, 1);
        const std::vector<double> rows = normals(n * dim, 2);
        std::vector<double> scores(n * classes);
        std::vector<double> sums(n * classes, 0.0);
        ClassScores(matrix, classes, dim)(rows, scores);
        for (std::size_t score = 0; score < scores.size(); ++score) {
          const std::size_t row = score / classes;
          const std::size_t label = score % classes;
          for (std::size_t a = 0; a < dim; ++a) sums[score] += rows[row * dim + a] * matrix[label * dim + a];
        }
        EXPECT_EQ(std::memcmp(scores.data(), sums.data(), scores.size() * sizeof(double)), 0)
            << n << ' ' << classes << ' ' << dim;
      }
    }
  }
}

TEST(ClassScores, WrongSizesAreOurOwnBug) {
  const std::vector<double> six(6);
  std::vector<double> four(4);
  EXPECT_THROW(ClassScores(six, 2, 2), std::logic_error);
  EXPECT_THROW(ClassScores(six, 2, 3)(four, four), std::logic_error);
  EXPECT_THROW(ClassScores(six, 3, 2)(six, four), std::logic_error);
}

TEST(Probabilities, SoftmaxIsOfAllScoresTogetherAndSigmoidOfEachByItself) {
  const auto of_scores = [](Link link, std::vector<double> scores) {
    to_probabilities(link, scores);
    return scores;
  };
  const auto near = [](const std::vector<double>& expected) {
    return testing::Pointwise(testing::DoubleNear(1e-15), expected);
  };
  const double log_3 = std::log(3.0);
  EXPECT_THAT(of_scores(Link::kSoftmax, {0.0, std::log(2.0), std::log(5.0)}), near({0.125, 0.25, 0.625}));
  EXPECT_THAT(of_scores(Link::kSigmoid, {0.0, log_3, -log_3}), near({0.5, 0.75, 0.25}));
  for (const Link link : {Link::kSoftmax, Link::kSigmoid})
    EXPECT_THAT(of_scores(link, {1e4, -1e4}), ElementsAre(1.0, 0.0));
}

}  // namespace dpreduce::class_scores_test
