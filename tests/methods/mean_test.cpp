// Class means, against plain sums over the rows.

#include "tests/methods/method_fixture.hpp"
#include "tests/testing.hpp"

namespace dpreduce::mean_test {

class MeanTest : public MethodTest {
 protected:
  static constexpr double kRounding = 1e-4;  // of rows of norm 2 to 15 bits

  // K x d
  std::vector<double> class_sums() const {
    std::vector<double> sums(kClasses * kInputDim, 0.0);
    for (std::size_t i = 0; i < kRows; ++i) {
      const std::vector<double> row = prepared_row(x_, i);
      for (std::size_t a = 0; a < kInputDim; ++a) sums[static_cast<std::size_t>(y_[i]) * kInputDim + a] += row[a];
    }
    return sums;
  }
};

TEST_F(MeanTest, DirectionsAreClassSumsOfLengthOne) {
  const LinearScores scores = fit(options_of("mean"));
  const std::vector<double> sums = class_sums();
  for (std::size_t c = 0; c < kClasses; ++c) {
    const double length = std::sqrt(squared_norm(std::span(sums).subspan(c * kInputDim, kInputDim)));
    for (std::size_t a = 0; a < kInputDim; ++a) {
      EXPECT_NEAR(scores.weights[c * kInputDim + a], sums[c * kInputDim + a] / length, kRounding);
    }
    EXPECT_EQ(scores.bias[c], 0.0);
  }
}

TEST_F(MeanTest, CentersAreClassMeansAndBiasesHalfTheirSquares) {
  FitOptions options = options_of("mean");
  options.method.metric = Metric::kEuclidean;
  const LinearScores scores = fit(options);
  std::vector<double> means = class_sums();
  for (std::size_t c = 0; c < kClasses; ++c) {
    const auto size = static_cast<double>(std::count(y_.begin(), y_.end(), static_cast<std::int32_t>(c)));
    double squares = 0.0;
    for (std::size_t a = 0; a < kInputDim; ++a) {
      squares += std::pow(means[c * kInputDim + a] / size, 2);
      EXPECT_NEAR(scores.weights[c * kInputDim + a], means[c * kInputDim + a] / size, kRounding);
    }
    EXPECT_NEAR(scores.bias[c], -squares / 2.0, kRounding);
  }
}

TEST_F(MeanTest, FeaturesThatAreNotSelectedHaveNoWeight) {
  FitOptions options = options_of("mean");
  options.rows.select = 2;
  const LinearScores scores = fit(options);
  std::vector<bool> is_kept(kInputDim, false);
  for (std::size_t e = 0; e < scores.weights.size(); ++e) {
    if (scores.weights[e] != 0.0) is_kept[e % kInputDim] = true;
  }
  EXPECT_EQ(std::count(is_kept.begin(), is_kept.end(), true), 2);
}

TEST_F(MeanTest, CountsAreReleasedForCentersOnly) {
  FitOptions options = options_of("mean");
  ReleaseTerms terms{.classes = kClasses, .dim = kInputDim};
  EXPECT_EQ(make_method(options)->requests(terms).front().blocks.size(), 1U);
  options.method.metric = Metric::kEuclidean;
  const ReleaseRequest of_centers = make_method(options)->requests(terms).front();
  ASSERT_EQ(of_centers.blocks.size(), 2U);
  EXPECT_EQ(of_centers.blocks[1].name, "class_counts");
}

}  // namespace dpreduce::mean_test
