// Public rows as prototypes, chosen without noise: against cosines summed by plain loops.

#include "fit/resolved_fit.hpp"
#include "tests/methods/method_fixture.hpp"

namespace dpreduce::public_test {

class PublicTest : public MethodTest {
 protected:
  static constexpr std::size_t kPublic = 50;

  PublicTest() {
    std::mt19937 engine(13);
    std::normal_distribution<float> normal;
    public_x_.resize(kPublic * kInputDim);
    for (float& entry : public_x_) entry = normal(engine);
  }

  double cosine(std::size_t row, std::size_t of_public) const {
    const std::vector<double> x = prepared_row(x_, row);
    const std::vector<double> z = prepared_row(public_x_, of_public);
    return std::inner_product(x.begin(), x.end(), z.begin(), 0.0) / (kClipNorm * kClipNorm);
  }

  // W_c is the mean of the top_k public rows with the largest sum_{i : y_i = c} clip(1 + cos, d_min, d_max).
  void expect_prototypes(const LinearScores& scores, std::size_t top_k, double d_min, double d_max) const {
    for (std::size_t c = 0; c < kClasses; ++c) {
      std::vector<double> utilities(kPublic, 0.0);
      for (std::size_t i = 0; i < kRows; ++i) {
        if (y_[i] != static_cast<std::int32_t>(c)) continue;
        for (std::size_t z = 0; z < kPublic; ++z) utilities[z] += std::clamp(1.0 + cosine(i, z), d_min, d_max);
      }
      std::vector<double> expected(kInputDim, 0.0);
      for (std::size_t rank = 0; rank < top_k; ++rank) {
        const auto best = std::max_element(utilities.begin(), utilities.end());
        *best = -1.0;
        const std::vector<double> row = prepared_row(public_x_, static_cast<std::size_t>(best - utilities.begin()));
        for (std::size_t a = 0; a < kInputDim; ++a) expected[a] += row[a] / (kClipNorm * static_cast<double>(top_k));
      }
      for (std::size_t a = 0; a < kInputDim; ++a) {
        EXPECT_NEAR(scores.weights[c * kInputDim + a], expected[a], 1e-6) << c << " " << a;
      }
      EXPECT_EQ(scores.bias[c], 0.0);
    }
  }
};

TEST_F(PublicTest, EachClassHasTheRowsOfTheLargestSummedCosine) {
  for (const std::size_t top_k : {1U, 3U}) {
    FitOptions options = options_of("public");
    if (top_k != 1) options.method.top_k = top_k;
    expect_prototypes(fit(options), top_k, 0.0, 2.0);
  }
}

TEST_F(PublicTest, CosinesCountBetweenTheBounds) {
  FitOptions options = options_of("public");
  options.method.d_min = 1.2;
  options.method.d_max = 1.7;
  expect_prototypes(fit(options), 1, 1.2, 1.7);
}

TEST_F(PublicTest, ReleasesNothingButAChoiceThatTakesTheWholeBudget) {
  FitOptions options = options_of("public");
  options.privacy.budget = {{.epsilon = 3.0}};
  EXPECT_THAT(make_method(options)->requests({.classes = kClasses, .dim = kInputDim}), IsEmpty());
  const FitPlan plan = make_fit_plan(options, kInputDim, kPublic);
  EXPECT_TRUE(plan.noise->releases.empty());
  ASSERT_EQ(plan.noise->selections.size(), 1U);
  EXPECT_NEAR(plan.noise->selections.front().terms.epsilon, 3.0, 1e-9);
  EXPECT_EQ(plan.noise->selections.front().terms.groups, kClasses);
  EXPECT_EQ(plan.noise->selections.front().terms.candidates, kPublic);
}

}  // namespace dpreduce::public_test
