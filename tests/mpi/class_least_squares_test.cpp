// --method ls from rows to weights, over ranks.
#include "fit/resolved_fit.hpp"
#include "methods/registry.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/elimination.hpp"
#include "tests/mpi/mpi_test.hpp"

namespace dpreduce::class_least_squares_test {

constexpr std::size_t kDim = 12;
constexpr std::size_t kClasses = 9;  // more than ranks; class 3 has no rows
constexpr std::size_t kRows = 240;

class ClassLeastSquaresTest : public testing::Test {
 protected:
  ClassLeastSquaresTest() {
    std::mt19937 engine(8);
    std::normal_distribution<float> normal;
    for (std::size_t row = 0; row < kRows; ++row) {
      std::int32_t label = static_cast<std::int32_t>(engine() % kClasses);
      if (label == 3) label = 0;
      for (std::size_t a = 0; a < kDim; ++a)
        x_.push_back(normal(engine) + (a == static_cast<std::size_t>(label) ? 2.0F : 0.0F));
      y_.push_back(label);
    }
    write_npy(folder_ / "x.npy", x_, kDim);
    write_npy(folder_ / "y.npy", y_);
  }

  LinearScores train(FitOptions options, std::size_t memory) {
    options.data.classes = kClasses;
    options.method.name = "ls";
    options = resolved(options, kDim);
    Communicator& ranks = test_ranks();
    const FitPlan plan = make_fit_plan(options, kDim);
    std::optional<Releaser> releaser;
    if (plan.noise) {
      releaser.emplace(ranks, *plan.noise, RunFile(), Charging{.ledger_path = folder_ / "ledger.jsonl", .seed = 5},
                       test_terms("ls", plan.config_digest));
    } else {
      releaser.emplace(ranks);
    }
    WorkerRows rows = WorkerRows::open({folder_ / "x.npy"}, {folder_ / "y.npy"}, own_rank(), rank_count());
    const StreamPlan stream{kClasses, BadRows::kFail, memory, 1};
    Timings timings;
    TrainingRun run(
        ranks, rows, *releaser, plan, stream, [](std::string_view) -> OnChunk { return [](double) {}; }, timings);
    return make_method(options)->train(run);
  }

  TemporaryFolder folder_;
  std::vector<float> x_;
  std::vector<std::int32_t> y_;
};

// theta_j = [A_j + alpha G + lambda I]^-1 b_j of the lattice rows, by elimination.
TEST_F(ClassLeastSquaresTest, IsTheDenseSolutionWithoutNoise) {
  const Lattice lattice{1.0, kDim};
  const RowTransform transform(
      {.input_dim = kDim, .pool = 1, .normalize = Normalize::kL2, .clip_norm = 1.0, .center = {}, .intercept = 0.0});
  std::vector<std::vector<double>> rows(kRows, std::vector<double>(kDim));
  std::vector<double> u(kDim);
  std::vector<std::int16_t> q(kDim);
  for (std::size_t row = 0; row < kRows; ++row) {
    transform(std::span(x_).subspan(row * kDim, kDim), u);
    quantize_row(u, lattice, q);
    for (std::size_t a = 0; a < kDim; ++a) rows[row][a] = q[a] / lattice.scale();
  }
  for (const double alpha : {0.0, 0.3, 10.0}) {
    FitOptions options;
    options.privacy.budget.non_private = true;
    options.method.alpha = alpha;
    options.method.lambda = 0.25;
    const LinearScores scores = train(options, 1 << 20);
    for (std::size_t label = 0; label < kClasses; ++label) {
      std::vector<std::vector<double>> matrix(kDim, std::vector<double>(kDim, 0.0));
      std::vector<double> sum(kDim, 0.0);
      for (std::size_t a = 0; a < kDim; ++a) matrix[a][a] = 0.25;
      for (std::size_t row = 0; row < kRows; ++row) {
        const double own = static_cast<std::size_t>(y_[row]) == label ? 1.0 : 0.0;
        for (std::size_t a = 0; a < kDim; ++a) {
          for (std::size_t b = 0; b < kDim; ++b) matrix[a][b] += (alpha + own) * rows[row][a] * rows[row][b];
          sum[a] += own * rows[row][a];
        }
      }
      const std::vector<double> theta = solved_by_elimination(matrix, sum);
      for (std::size_t a = 0; a < kDim; ++a) EXPECT_NEAR(scores.weights[label * kDim + a], theta[a], 1e-6) << label;
    }
  }
}

TEST_F(ClassLeastSquaresTest, HasTheSameBitsWithAnyMemory) {
  for (const bool is_private : {false, true}) {
    FitOptions options;
    options.privacy.budget.non_private = !is_private;
    if (is_private) options.privacy.budget.mu = 5.0;
    const LinearScores expected = train(options, 1 << 20);
    for (const std::size_t memory : {300, 700, 3000}) {
      EXPECT_EQ(train(options, memory).weights, expected.weights) << memory;
    }
  }
}

TEST_F(ClassLeastSquaresTest, AClassWithoutRowsScoresNothingButNoise) {
  FitOptions options;
  options.privacy.budget.non_private = true;
  const LinearScores scores = train(options, 1 << 20);
  for (std::size_t a = 0; a < kDim; ++a) EXPECT_EQ(scores.weights[3 * kDim + a], 0.0);
}

}  // namespace dpreduce::class_least_squares_test
