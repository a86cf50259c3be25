// DP-FC against plain loops over the same whitened rows (reference_fit.hpp). That they are white is checked where the
// loops take their curvature (method_fixture.cpp).

#include <numeric>
#include <span>
#include <vector>

#include "common/lattice/row_transform.hpp"
#include "fit/resolved_fit.hpp"
#include "tests/methods/method_fixture.hpp"
#include "tests/testing.hpp"

namespace dpreduce::fc_test {

class FcTest : public MethodTest {};

TEST_F(FcTest, TheGramMatrixHasItsShareAndAWarmStartTakesFromBoth) {
  FitOptions options = options_of("fc");
  expect_shares(options, {{"gram", 0.1}, {"gradient", 0.9}});
  options.method.gram_share = 0.4;
  expect_shares(options, {{"gram", 0.4}, {"gradient", 0.6}});
  options.method.warm_start = true;
  options.method.warm_start_share = 0.25;
  expect_shares(options, {{"gram", 0.3}, {"class_means", 0.25}, {"gradient", 0.45}});  // means right before the rounds
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

TEST_F(FcTest, RowsThatAreNotNormalizedAreAsUsefulAsThoseThatAre) {
  for (const double mu : {1000.0, 10.0}) {
    FitOptions options = options_of("fc", mu);
    const double normalized = training_accuracy(fit(options));
    options.rows.normalize = Normalize::kNone;
    options.rows.clip_norm = 2.0;
    EXPECT_GT(training_accuracy(fit(options)), normalized - 0.05) << "mu " << mu;
  }
}

}  // namespace dpreduce::fc_test
