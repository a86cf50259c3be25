#include "common/model/class_scores.hpp"
#include "tests/testing.hpp"

namespace dpreduce::probabilities_test {

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

}  // namespace dpreduce::probabilities_test
