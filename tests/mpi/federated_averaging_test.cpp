// Federated averaging over ranks: each is a silo with rows, steps and noise of its own.
#include "common/ledger/statistic.hpp"
#include "tests/common/ledger/charged_runs.hpp"
#include "tests/methods/reference_fit.hpp"
#include "tests/methods/trained_scores.hpp"
#include "tests/mpi/mpi_test.hpp"
#include "tests/temporary_folder.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce::federated_averaging_test {

constexpr std::size_t kDim = 5;
constexpr std::size_t kClasses = 3;
constexpr std::size_t kRows = 60;
constexpr double kIntercept = 0.1;

class FederatedAveragingTest : public testing::Test {
 protected:
  // Rows of this rank, of silo `silo`: with silo 0 everywhere all ranks have the same.
  void make_rows(int silo) {
    std::mt19937 engine(static_cast<unsigned>(40 + silo));
    std::normal_distribution<float> normal;
    x_.clear();
    y_.clear();
    for (std::size_t row = 0; row < kRows; ++row) {
      const std::size_t label = (row + (row % 5 == 0 ? static_cast<std::size_t>(silo) : 0)) % kClasses;
      y_.push_back(static_cast<std::int32_t>(label));
      for (std::size_t a = 0; a < kDim; ++a) x_.push_back(normal(engine) + (a == label ? 2.0F : 0.0F));
    }
  }

  static FitOptions options_of(std::uint64_t rounds, std::uint64_t local_steps) {
    FitOptions options;
    options.data.classes = kClasses;
    options.method.name = "fedavg";
    options.method.rounds = rounds;
    options.method.local_steps = local_steps;
    options.privacy.budget.non_private = true;
    return resolved(options, kDim);
  }

  static FitOptions with_noise(FitOptions options, double mu) {
    options.privacy.budget = {{.mu = mu}};
    return options;
  }

  // The weights and biases, the same on every rank.
  LinearScores fit(const FitOptions& options, std::optional<std::uint64_t> seed = 9) {
    TrainedScores trained =
        trained_scores(test_ranks(), options, kDim,
                       WorkerRows::in_memory(array_view(x_, kDim), array_view(y_), "x", "y"), folder_ / "ledger", seed);
    trained_on_ = std::move(trained.prepared);
    return std::move(trained.scores);
  }

  // `gd` on this rank's rows alone, as plain loops; as weights and biases.
  LinearScores descent_here(FitOptions options, std::uint64_t rounds) const {
    options.method.name = "gd";
    options.method.rounds = rounds;
    const ReferenceRows rows = reference_rows(trained_on_, x_, y_, kClasses);
    return fold_intercept(reference_fit(rows, options, kIntercept), trained_on_);
  }

  static void expect_near(const LinearScores& left, const LinearScores& right, double error) {
    EXPECT_THAT(left.weights, testing::Pointwise(testing::DoubleNear(error), right.weights));
    EXPECT_THAT(left.bias, testing::Pointwise(testing::DoubleNear(error), right.bias));
  }

  void expect_charges(std::size_t charges) const {
    if (test_ranks().is_coordinator()) {
      EXPECT_EQ(charges_of(folder_ / "ledger").size(), charges);
    }
  }

  TemporaryFolder folder_;
  std::vector<float> x_;
  std::vector<std::int32_t> y_;
  Preprocessing trained_on_;
};

TEST_F(FederatedAveragingTest, OneRoundIsTheMeanOfDescentsOnEachSilosRows) {
  make_rows(test_ranks().rank());
  const FitOptions options = options_of(1, 4);
  const LinearScores scores = fit(options);
  LinearScores mean = descent_here(options, 4);
  test_ranks().sum_everywhere(std::span<double>(mean.weights));
  test_ranks().sum_everywhere(std::span<double>(mean.bias));
  for (double& entry : mean.weights) entry /= test_ranks().size();
  for (double& entry : mean.bias) entry /= test_ranks().size();
  expect_near(scores, mean, 1e-6);
}

TEST_F(FederatedAveragingTest, SilosWithTheSameRowsAreOneSiloAndItDescends) {
  make_rows(0);
  const FitOptions options = options_of(3, 2);
  const LinearScores scores = fit(options);  // which says how rows are transformed
  expect_near(scores, descent_here(options, 6), 1e-4);
}

TEST_F(FederatedAveragingTest, EveryRankHasTheSameModelAndEveryRunIsCharged) {
  make_rows(test_ranks().rank());
  const FitOptions options = with_noise(options_of(3, 2), 3.0);
  const LinearScores scores = fit(options);
  std::vector<double> of_coordinator = scores.weights;
  test_ranks().broadcast(of_coordinator);
  EXPECT_EQ(scores.weights, of_coordinator);
  expect_charges(6);  // a line for every step, whatever the number of silos
  EXPECT_EQ(fit(options).weights, scores.weights) << "under one seed";
  EXPECT_NE(fit(options, std::nullopt).weights, fit(options, std::nullopt).weights);
  expect_charges(24);
}

// One step from W = 0 at a constant rate: W_1 + rate * (exact mean gradient) is rate * (mean of P silos' noise), with
// variance rate^2 s^2 / P an entry; biases have their own unit. 40 x 15 entries of seeded noise: the mean square is
// within 5 standard errors but for 6e-7.
TEST_F(FederatedAveragingTest, EachSiloAddsTheWholePlannedNoiseOfItsOwn) {
  make_rows(test_ranks().rank());
  constexpr double kRate = 1e-3;
  FitOptions exact = options_of(1, 1);
  exact.method.learning_rate = kRate;
  const LinearScores without = fit(with_noise(exact, 1e4));  // clipped as with noise, of which it has next to none
  const FitOptions options = with_noise(exact, 1.0);
  const FitPlan plan = make_fit_plan(options, kDim);
  const PlannedBlock& block = plan.noise->release("gradient").block("gradient");
  const double unit = Lattice{residual_norm_of(Loss::kSoftmax), kClasses}.scale() * Lattice{1.0, kDim + 1}.scale();
  // Folding the intercept scales a weight by sqrt(1 - 0.1).
  const double deviation = kRate * block.sigma / unit / std::sqrt(test_ranks().size()) * std::sqrt(1.0 - kIntercept);
  double squares = 0.0;
  double entries = 0.0;
  for (int draw = 0; draw < 40; ++draw) {
    const LinearScores with = fit(options, static_cast<std::uint64_t>(draw));
    for (std::size_t e = 0; e < with.weights.size(); ++e) {
      squares += std::pow((with.weights[e] - without.weights[e]) / deviation, 2);
      entries += 1.0;
    }
  }
  EXPECT_NEAR(squares / entries, 1.0, 5.0 * std::sqrt(2.0 / entries));
}

TEST_F(FederatedAveragingTest, SilosDoNotShareNoise) {
  if (test_ranks().size() == 1) GTEST_SKIP() << "there is one";
  const ReleaseRequest request = registered_statistic("gradient").request({.classes = kClasses, .dim = 40}, 1.0);
  Releaser releaser(test_ranks(), make_noise_plan(1.0, Adjacency::kAddRemove, {request}), RunFile(),
                    {.ledger_path = folder_ / "ledger", .seed = 9}, test_terms("fedavg"));
  const Release own = releaser.release_of_each_rank("gradient", empty_statistic(request));
  const auto values = own.block("gradient").values();
  // sigma is above 2^29: two silos' noises agree in an entry with probability below 1e-9.
  std::vector<double> of_coordinator(values.begin(), values.end());
  test_ranks().broadcast(of_coordinator);
  std::size_t equal = 0;
  for (std::size_t e = 0; e < values.size(); ++e) equal += of_coordinator[e] == static_cast<double>(values[e]) ? 1 : 0;
  EXPECT_EQ(equal, test_ranks().is_coordinator() ? values.size() : 0u);
  EXPECT_THROW(releaser.release_of_each_rank("gradient", empty_statistic(request)), std::logic_error);  // one round
}

TEST_F(FederatedAveragingTest, AveragedWeightsThatDoNotFitAreRefusedOnEveryRank) {
  if (test_ranks().size() == 1) GTEST_SKIP() << "nothing is averaged";
  make_rows(test_ranks().rank());
  FitOptions options = options_of(1, 1);
  options.method.learning_rate = 1e30;
  EXPECT_THROW(fit(options), Error);
}

}  // namespace dpreduce::federated_averaging_test
