// DP-FC beside the equations of its rounds, which tests/cli/reference_test.cpp checks.

#include <nlohmann/json.hpp>

#include "fit/resolved_fit.hpp"
#include "tests/methods/method_fixture.hpp"

namespace dpreduce::fc_test {

class FcTest : public MethodTest {};

TEST_F(FcTest, BesidePublicRowsTheGramMatrixHasHalfOfItsShare) {
  FitOptions options = options_of("fc");
  options.data.public_x = {"p.npy"};
  EXPECT_EQ(settings_of(options)["gram_share"], 0.05);
  options.method.gram_share = 0.4;
  EXPECT_EQ(settings_of(options)["gram_share"], 0.4);
}

TEST_F(FcTest, WhiteningKeepsTheMeanSquareOfLengthsWhereRowsAreNotNormalized) {
  FitOptions options = options_of("fc");
  options.rows.normalize = Normalize::kNone;
  options.rows.clip_norm = 100;  // none is clipped
  fit(options);
  const RowTransform transform(trained_on());
  std::vector<double> whitened(transform.output_dim());
  double before = 0.0;
  double after = 0.0;
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::span<const float> raw = std::span(x_).subspan(row * kInputDim, kInputDim);
    transform(raw, whitened);
    before += std::inner_product(raw.begin(), raw.end(), raw.begin(), 0.0);
    after += squared_norm(std::span(whitened).first(kInputDim));
  }
  EXPECT_NEAR(after / before, 1.0 - kInterceptOfWhitened, 0.001);
}

// Rows that say nothing, seven of ten in the first class: class means take the place of rounds, and what is left are
// sizes. Clipping has made every residual at W = 0 shorter, by .7 / .866 with four classes. Were that not undone, the
// first class would be ahead by log(4.8) at most, not by log(7). The noise of one draw moves it by .1, and sizes are
// blurred on purpose.
TEST_F(FcTest, ClassMeansOfClippedRoundsKeepTheSizesOfClasses) {
  constexpr std::size_t kMany = 4000;
  input_dim_ = 16;
  std::mt19937 engine(8);
  std::normal_distribution<float> normal;
  x_.resize(kMany * input_dim_);
  for (float& entry : x_) entry = normal(engine);
  y_.resize(kMany);
  for (std::size_t i = 0; i < kMany; ++i) y_[i] = static_cast<std::int32_t>(i % 10 < 7 ? 0 : i % 10 - 6);
  FitOptions options = options_of("fc", 0.095);
  options.method.isotropy_share = 0.03;
  options.rows.center = Centering::kDp;
  const LinearScores scores = fit(options);
  EXPECT_TRUE(trained_on().projection.empty()) << "rounds";
  EXPECT_GT(scores.bias[0] - (scores.bias[1] + scores.bias[2] + scores.bias[3]) / 3.0, 1.6);
}

}  // namespace dpreduce::fc_test
