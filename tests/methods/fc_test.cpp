// DP-FC against plain loops over the same whitened rows (reference_fit.hpp). That they are white is checked where the
// loops take their curvature (method_fixture.cpp).

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

}  // namespace dpreduce::fc_test
