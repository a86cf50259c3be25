// Gradient descent against plain loops over the same rows (reference_fit.hpp).

#include "tests/methods/method_fixture.hpp"
#include "tests/testing.hpp"

namespace dpreduce::gd_test {

class GdTest : public MethodTest {};

TEST_F(GdTest, WeightsStayInTheBall) {
  FitOptions options = options_of("gd");
  options.method.rounds = 5;
  options.method.learning_rate = 0.01;
  options.method.radius = 0.25;
  EXPECT_LE(error_of_rounds(options), 1e-5);
  const LinearScores inside = fit(options);
  double squares = squared_norm(inside.weights) / (1.0 - kIntercept);
  squares += squared_norm(inside.bias) / (kIntercept * kClipNorm * kClipNorm);
  EXPECT_NEAR(std::sqrt(squares), 0.25, 1e-9);
}

}  // namespace dpreduce::gd_test
