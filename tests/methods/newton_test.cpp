// How far Newton's rounds go, and what for. Their equations: tests/cli/reference_test.cpp.

#include "fit/resolved_fit.hpp"
#include "tests/methods/method_fixture.hpp"

namespace dpreduce::newton_test {

class NewtonTest : public MethodTest {
 protected:
  // Mean of -log((p_y + u_y) / 2), whose argument such scores are.
  double residual_loss(const LinearScores& scores) const {
    const std::vector<double> of_rows = classifier_of(scores).predict_scores(x_);
    double sum = 0.0;
    for (std::size_t i = 0; i < kRows; ++i) {
      sum -= std::log(of_rows[i * kClasses + static_cast<std::size_t>(y_[i])] / 2);
    }
    return sum / kRows;
  }
};

// Two classes told apart by 2 % of their rows' length, where the whole step would move a score by 63: (n / 2) delta /
// (3 / 16 n delta^2 + 1) for rows of length 1.
TEST_F(NewtonTest, AStepMovesAScoreByNoMoreThanTwenty) {
  constexpr std::size_t kMany = 12000;
  x_.assign(kMany * kInputDim, 0.0F);
  y_.resize(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    y_[i] = static_cast<std::int32_t>(i % 2);
    x_[i * kInputDim] = 1.0F;
    x_[i * kInputDim + 1] = y_[i] == 0 ? 0.02F : -0.02F;
  }
  FitOptions options = options_of("newton");
  options.method.rounds = 1;
  const LinearScores scores = fit(options);
  for (const std::size_t c : {0U, 1U}) {
    const double without =
        squared_norm(std::span(scores.weights).subspan(c * kInputDim, kInputDim)) / (1.0 - kIntercept);
    const double intercept = scores.bias[c] / (std::sqrt(kIntercept) * kClipNorm);
    const double eta = 1.0 - 1.0 / static_cast<double>(kClasses);
    EXPECT_NEAR(std::sqrt(without + intercept * intercept), eta * 20.0 / kClipNorm, 1e-9) << c;
  }
}

// A step goes where a bound that touches the loss at W is less.
TEST_F(NewtonTest, EveryStepFromAWarmStartLowersTheLoss) {
  FitOptions options = options_of("newton");
  options.method.warm_start = true;
  options.method.rounds = 1;
  LinearScores scores = fit(options);
  const LinearScores start{std::vector<double>(scores.weights.size(), 0.0), std::vector<double>(kClasses, 0.0),
                           scores.cosine_head};
  const double accuracy_of_means = training_accuracy(start);
  double loss = residual_loss(start);
  for (const std::uint64_t rounds : {1, 2, 4, 8, 16}) {
    options.method.rounds = rounds;
    scores = fit(options);
    const double lower = residual_loss(scores);
    EXPECT_LT(lower, loss) << rounds;
    loss = lower;
  }
  EXPECT_GE(training_accuracy(scores), accuracy_of_means);
}

TEST_F(NewtonTest, RefusesWhatItsHessiansDoNotFitInto) {
  FitOptions options = options_of("newton");
  options.data.classes = 1000;
  options.machine.memory_mib = 64;
  EXPECT_THROW(make_fit_plan(options, 1664), UsageError);
  options.machine.memory_mib = 16 << 10;
  EXPECT_NO_THROW(make_fit_plan(options, 1664));
}

}  // namespace dpreduce::newton_test
