// Federated averaging of one silo: what it has in common with gradient descent. Of several silos: tests/mpi.

#include "fit/resolved_fit.hpp"
#include "tests/methods/method_fixture.hpp"

namespace dpreduce::fedavg_test {

class FedavgTest : public MethodTest {};

TEST_F(FedavgTest, OneSiloIsDescentBitForBit) {
  for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid, Loss::kSquare}) {
    FitOptions options = options_of("gd");
    options.method.loss = loss;
    options.method.rounds = 12;
    const LinearScores descent = fit(options);
    options.method.name = "fedavg";
    for (const std::uint64_t local_steps : {1, 3, 12}) {
      options.method.local_steps = local_steps;
      options.method.rounds = 12 / local_steps;
      const LinearScores federated = fit(options);
      EXPECT_EQ(federated.weights, descent.weights) << to_string(loss) << " " << local_steps;
      EXPECT_EQ(federated.bias, descent.bias);
    }
  }
}

TEST_F(FedavgTest, OneSiloHasTheNoiseOfDescent) {
  FitOptions options = options_of("gd", 2.0);
  options.method.rounds = 300;
  const NoisePlan descent = *make_fit_plan(options, kInputDim).noise;
  const double accuracy = training_accuracy(fit(options));
  options.method.name = "fedavg";
  options.method.rounds.reset();
  options = resolved(options, kInputDim);
  const NoisePlan federated = *make_fit_plan(options, kInputDim).noise;
  EXPECT_EQ(federated.mu, descent.mu);
  EXPECT_EQ(federated.release("gradient").rounds, 300u);  // 60 rounds of 5 steps
  EXPECT_EQ(federated.release("gradient").block("gradient").sigma, descent.release("gradient").block("gradient").sigma);
  EXPECT_NEAR(training_accuracy(fit(options)), accuracy, 0.05);  // one draw each, of seeded noise
}

TEST_F(FedavgTest, ReleasesAGradientForEveryStepOfARoundAndNothingElse) {
  FitOptions options = options_of("fedavg");
  options.method.rounds = 7;
  options.method.local_steps = 3;
  const auto method = make_method(options);
  ReleaseTerms terms{.classes = kClasses, .dim = kInputDim};
  EXPECT_EQ(method->requests(terms).front().rounds, 21U);
  EXPECT_EQ(method->releases_per_sum(), 3U);
}

TEST_F(FedavgTest, MoreThanAHundredThousandStepsAreRefused) {
  FitOptions options = options_of("fedavg");
  options.method.rounds = 1000;
  options.method.local_steps = 100;
  EXPECT_NO_THROW(make_method(options));
  options.method.local_steps = 101;
  EXPECT_THROW(make_method(options), UsageError);
}

}  // namespace dpreduce::fedavg_test
