// Methods that train by rounds: against plain loops over the same lattice rows, and on rows that can be told apart.
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "common/base/version.hpp"
#include "common/model/classifier.hpp"
#include "fit/plan_fit.hpp"
#include "methods/gradient_rounds.hpp"
#include "methods/training_method.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/methods/reference_fit.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kRows = 400;
constexpr std::size_t kInputDim = 7;
constexpr std::size_t kClasses = 4;
constexpr double kIntercept = 0.1;
constexpr double kInterceptOfWhitened = 0.05;
constexpr double kClipNorm = 2.0;

double intercept_of(std::string method) {
  return method == "fc" ? kInterceptOfWhitened : kIntercept;
}

// Gaussian rows around class means; classes of unequal size.
class RoundsTest : public testing::Test {
 protected:
  RoundsTest() : x_(kRows * kInputDim), y_(kRows) {
    std::mt19937 engine(3);
    std::normal_distribution<float> normal;
    std::vector<float> means(kClasses * kInputDim);
    for (float& entry : means) entry = 1.5F * normal(engine);
    for (std::size_t i = 0; i < kRows; ++i) {
      const std::size_t label = std::min<std::size_t>(engine() % (kClasses + 2), kClasses - 1);
      y_[i] = static_cast<std::int32_t>(label);
      for (std::size_t a = 0; a < kInputDim; ++a) x_[i * kInputDim + a] = means[label * kInputDim + a] + normal(engine);
    }
    const std::string n = std::to_string(kRows);
    write_bytes(folder_ / "x.npy", npy_header_bytes(npy_text("<f4", "(" + n + ", " + std::to_string(kInputDim) + ")")) +
                                       element_bytes(x_));
    write_bytes(folder_ / "y.npy", npy_header_bytes(npy_text("<i4", "(" + n + ",)")) + element_bytes(y_));
  }

  static FitOptions options_of(std::string method) {
    FitOptions options;
    options.data.classes = kClasses;
    options.method.name = method;
    options.rows.clip_norm = kClipNorm;
    options.rows.center = Centering::kNone;
    options.privacy.budget.non_private = true;
    options.machine.memory_mib = 16;
    return options;
  }

  LinearScores fit(const FitOptions& options, std::size_t memory_bytes = std::size_t{1} << 20) const {
    Communicator alone = Communicator::join();
    const FitPlan plan = plan_fit(options, kInputDim);
    std::unique_ptr<Releaser> releaser = std::make_unique<Releaser>(alone);
    if (plan.noise) {
      releaser = std::make_unique<Releaser>(alone, *plan.noise, NoiseKey::from_seed(5),
                                            Charging{.ledger_path = folder_ / "ledger"},
                                            RunTerms{.method = "test",
                                                     .accountant = Accountant::kGdp,
                                                     .epsilon = {},
                                                     .delta = {},
                                                     .config_digest = plan.config_digest,
                                                     .version = version()});
    }
    WorkerRows rows = WorkerRows::open({folder_ / "x.npy"}, {folder_ / "y.npy"}, 0, 1);
    const StreamPlan stream{kClasses, BadRows::kFail, memory_bytes, 1};
    Timings timings;
    TrainingRun run(
        alone, rows, *releaser, plan, stream, [](std::string_view) -> OnChunk { return [](double) {}; }, timings);
    const std::unique_ptr<TrainingMethod> method = make_method(options);
    LinearScores scores = method->train(run);
    trained_on_ = run.preprocessing();
    return scores;
  }

  // Of the rows that the last fit was made on.
  const Preprocessing& trained_on() const { return trained_on_; }

  ReferenceRows lattice_rows() const {
    ReferenceRows rows = lattice_rows(trained_on_);
    if (!trained_on_.projection.empty()) rows.curvature = curvature();
    return rows;
  }

  ReferenceRows lattice_rows(const Preprocessing& preprocessing) const {
    const RowTransform transform(preprocessing);
    ReferenceRows rows{{kClipNorm, transform.output_dim()}, kClasses, {}, y_};
    std::vector<double> row(transform.output_dim());
    for (std::size_t i = 0; i < kRows; ++i) {
      transform(std::span(x_).subspan(i * kInputDim, kInputDim), row);
      rows.q.emplace_back(row.size());
      quantize_row(row, rows.lattice, rows.q.back());
    }
    return rows;
  }

  // E of whitened rows M x, from the second moments of rows that are not, G: (1 - a) tr G M G M / tr(M G M), and a tr G
  // for the intercept. M is what whitens G + ridge I.
  std::vector<double> curvature() const {
    Preprocessing plain = trained_on_;
    plain.intercept = 0.0;
    plain.projection.clear();
    const ReferenceRows rows = lattice_rows(plain);
    const std::size_t dim = rows.lattice.dim;
    const double scale = rows.lattice.scale();
    double trace = 0.0;
    double white_trace = 0.0;
    std::vector<double> white(dim * dim, 0.0);
    for (const std::vector<std::int16_t>& q : rows.q) {
      std::vector<double> x(dim, 0.0);
      for (std::size_t j = 0; j < dim; ++j) {
        trace += std::pow(q[j] / scale, 2);
        for (std::size_t a = 0; a < dim; ++a) x[j] += trained_on_.projection[j * dim + a] * q[a] / scale;
      }
      for (std::size_t j = 0; j < dim; ++j) {
        white_trace += x[j] * x[j];
        for (std::size_t k = 0; k < dim; ++k) white[j * dim + k] += x[j] * x[k];
      }
    }
    const double ridge = trace / static_cast<double>(dim) + kClipNorm * kClipNorm;
    std::vector<double> result((dim + 1) * (dim + 1), 0.0);
    for (std::size_t j = 0; j < dim; ++j) {
      for (std::size_t k = 0; k < dim; ++k) {
        double of_ridge = 0.0;
        for (std::size_t a = 0; a < dim; ++a) {
          of_ridge += ridge * trained_on_.projection[j * dim + a] * trained_on_.projection[k * dim + a];
        }
        EXPECT_NEAR(white[j * dim + k] + of_ridge, j == k ? 1.0 : 0.0, 1e-9);
        result[j * (dim + 1) + k] = (1.0 - kInterceptOfWhitened) * trace * white[j * dim + k] / white_trace;
      }
    }
    result.back() = kInterceptOfWhitened * trace;
    return result;
  }

  Classifier classifier_of(const LinearScores& scores) const {
    Preprocessing plain = trained_on_;
    plain.intercept = 0.0;
    return Classifier({.method = "test",
                       .privacy = {},
                       .preprocessing = plain,
                       .classes = kClasses,
                       .weights = scores.weights,
                       .bias = scores.bias,
                       .cosine_head = scores.cosine_head});
  }

  // Mean of -log((p_y + u_y) / 2), whose argument such scores are.
  double residual_loss(const LinearScores& scores) const {
    const std::vector<double> of_rows = classifier_of(scores).predict_scores(x_);
    double sum = 0.0;
    for (std::size_t i = 0; i < kRows; ++i)
      sum -= std::log(of_rows[i * kClasses + static_cast<std::size_t>(y_[i])] / 2);
    return sum / kRows;
  }

  double training_accuracy(const LinearScores& scores) const {
    const std::vector<std::int32_t> labels = classifier_of(scores).predict_labels(x_);
    std::size_t correct = 0;
    for (std::size_t i = 0; i < kRows; ++i) correct += labels[i] == y_[i] ? 1 : 0;
    return static_cast<double>(correct) / kRows;
  }

  const TemporaryFolder folder_;
  mutable Preprocessing trained_on_;
  std::vector<float> x_;
  std::vector<std::int32_t> y_;
};

// Rows, W and residuals are rounded to the same lattices on both sides; what is left is the order of summation, an
// exponential's last bits, and a residual that falls to the other side of a half: 1 / S of one row. A Hessian's rows
// are rounded as well, each entry by half a unit of S / sqrt(w).
TEST_F(RoundsTest, FitsWithoutNoiseAreThoseOfPlainLoops) {
  for (const std::string method : {"fc", "gd", "adam", "newton"}) {
    for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid, Loss::kSquare}) {
      if (method == "newton" && loss == Loss::kSquare) continue;
      for (const Iterate iterate : {Iterate::kLast, Iterate::kAverage}) {
        FitOptions options = options_of(method);
        options.method.loss = loss;
        options.method.iterate = iterate;
        options.method.rounds = method == "newton" ? 3 : 4;
        const LinearScores scores = fit(options);
        EXPECT_EQ(trained_on().intercept, intercept_of(method));
        const LinearScores expected =
            fold_intercept(reference_fit(lattice_rows(), options, intercept_of(method)), trained_on());
        double size = 0.0;
        double error = 0.0;
        for (std::size_t e = 0; e < expected.weights.size(); ++e) {
          size = std::max(size, std::abs(expected.weights[e]));
          error = std::max(error, std::abs(scores.weights[e] - expected.weights[e]));
        }
        for (std::size_t c = 0; c < kClasses; ++c) {
          error = std::max(error, std::abs(scores.bias[c] - expected.bias[c]));
        }
        EXPECT_LE(error, 1e-6 * size) << method << " " << to_string(loss) << " " << to_string(iterate);
      }
    }
  }
}

// One row's memory is too little to keep any: every round reads and transforms them again.
TEST_F(RoundsTest, RowsThatAreNotKeptGiveTheSameModel) {
  for (const std::string method : {"fc", "gd", "newton"}) {
    FitOptions options = options_of(method);
    options.method.rounds = 2;
    const LinearScores kept = fit(options);
    const LinearScores read_again = fit(options, 7 * (sizeof(float) * kInputDim + 2 * (kInputDim + 1) + 8));
    EXPECT_EQ(kept.weights, read_again.weights);
    EXPECT_EQ(kept.bias, read_again.bias);
  }
}

// Two classes told apart by 2 % of their rows' length, where the whole step would move a score by 63: (n / 2) delta /
// (3 / 16 n delta^2 + 1) for rows of length 1.
TEST_F(RoundsTest, ANewtonStepMovesAScoreByNoMoreThanTwenty) {
  constexpr std::size_t kMany = 12000;
  std::vector<float> x(kMany * kInputDim, 0.0F);
  std::vector<std::int32_t> y(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    y[i] = static_cast<std::int32_t>(i % 2);
    x[i * kInputDim] = 1.0F;
    x[i * kInputDim + 1] = y[i] == 0 ? 0.02F : -0.02F;
  }
  const std::string n = std::to_string(kMany);
  write_bytes(folder_ / "x.npy",
              npy_header_bytes(npy_text("<f4", "(" + n + ", " + std::to_string(kInputDim) + ")")) + element_bytes(x));
  write_bytes(folder_ / "y.npy", npy_header_bytes(npy_text("<i4", "(" + n + ",)")) + element_bytes(y));
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

TEST_F(RoundsTest, DescentTakesTheStatedStepAndStaysInTheBall) {
  FitOptions options = options_of("gd");
  options.method.rounds = 1;
  options.method.learning_rate = 0.01;
  const LinearScores scores = fit(options);
  const ReferenceRows rows = lattice_rows();
  const std::vector<double> one_step = reference_fit(rows, options, kIntercept);
  const LinearScores expected = fold_intercept(one_step, trained_on());
  for (std::size_t e = 0; e < expected.weights.size(); ++e) {
    EXPECT_NEAR(scores.weights[e], expected.weights[e], 1e-6 * std::sqrt(squared_norm(one_step)));
  }

  options.method.rounds = 5;
  options.method.radius = 0.25;
  const LinearScores inside = fit(options);
  double squares = squared_norm(inside.weights) / (1.0 - kIntercept);
  squares += squared_norm(inside.bias) / (kIntercept * 4.0);
  EXPECT_NEAR(std::sqrt(squares), 0.25, 1e-9);
  const LinearScores ball = fold_intercept(reference_fit(rows, options, kIntercept), trained_on());
  for (std::size_t e = 0; e < ball.weights.size(); ++e) EXPECT_NEAR(inside.weights[e], ball.weights[e], 1e-6);
}

TEST_F(RoundsTest, FederatedAveragingOfOneSiloIsDescentBitForBit) {
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

TEST_F(RoundsTest, FederatedAveragingOfOneSiloHasTheNoiseOfDescent) {
  FitOptions options = options_of("gd");
  options.privacy.budget.non_private = false;
  options.privacy.budget.mu = 2.0;
  options.method.rounds = 300;
  const NoisePlan descent = *plan_fit(options, kInputDim).noise;
  const double accuracy = training_accuracy(fit(options));
  options.method.name = "fedavg";
  options.method.rounds.reset();
  options = resolved(options, kInputDim);
  const NoisePlan federated = *plan_fit(options, kInputDim).noise;
  EXPECT_EQ(federated.mu, descent.mu);
  EXPECT_EQ(federated.release("gradient").rounds, 300u);  // 60 rounds of 5 steps
  EXPECT_EQ(federated.release("gradient").block("gradient").sigma, descent.release("gradient").block("gradient").sigma);
  EXPECT_NEAR(training_accuracy(fit(options)), accuracy, 0.05);  // one draw each, of seeded noise
}

TEST_F(RoundsTest, AWarmStartLearnsWhatClassMeansLeaveOpen) {
  for (const std::string method : {"fc", "gd", "adam", "newton"}) {
    FitOptions options = options_of(method);
    options.method.rounds = 4;
    const LinearScores cold = fit(options);
    EXPECT_TRUE(cold.cosine_head.empty());
    options.method.warm_start = true;
    const LinearScores scores = fit(options);
    const ReferenceRows rows = lattice_rows();
    const std::vector<double> prototypes = reference_prototypes(rows);
    const LinearScores expected = fold_intercept(reference_fit(rows, options, intercept_of(method)), trained_on());
    const double size = std::sqrt(squared_norm(expected.weights));
    double change = 0.0;
    for (std::size_t e = 0; e < expected.weights.size(); ++e) {
      EXPECT_NEAR(scores.weights[e], expected.weights[e], 1e-6 * size);
      change = std::max(change, std::abs(scores.weights[e] - cold.weights[e]));
    }
    EXPECT_GT(change, 1e-3 * size);
    ASSERT_EQ(scores.cosine_head.size(), prototypes.size());
    for (std::size_t c = 0; c < kClasses; ++c) {
      const auto of_class = std::span(scores.cosine_head).subspan(c * kInputDim, kInputDim);
      const double length = std::sqrt(squared_norm(of_class));
      for (std::size_t a = 0; a < kInputDim; ++a) {
        EXPECT_NEAR(of_class[a] / length, prototypes[c * kInputDim + a], 1e-12);
      }
    }
    options.method.rounds.reset();
    options.privacy.budget.non_private = false;
    options.privacy.budget.mu = 2.0;
    EXPECT_GE(training_accuracy(fit(options)), 0.8) << method;
  }
}

TEST_F(RoundsTest, AWarmStartTakesItsShareOfTheBudget) {
  for (const std::string method : {"fc", "newton"}) {
    FitOptions options = options_of(method);
    options.privacy.budget.non_private = false;
    options.privacy.budget.mu = 1.0;
    options.method.warm_start = true;
    options.method.warm_start_share = 0.25;
    const FitPlan plan = plan_fit(options, kInputDim);
    const std::vector<std::string> expected = method == "fc"
                                                  ? std::vector<std::string>{"gram", "class_means", "gradient"}
                                                  : std::vector<std::string>{"class_means", "newton"};
    std::vector<std::string> names;
    for (const ReleaseRequest& request : plan.requests) names.push_back(request.name);
    EXPECT_EQ(names, expected);  // class means right before the rounds
    EXPECT_NEAR(std::pow(plan.noise->release("class_means").mu, 2), 0.25, 1e-9);
    EXPECT_NEAR(plan.noise->mu, 1.0, 1e-9);
  }
}

// A step goes where a bound that touches the loss at W is less.
TEST_F(RoundsTest, EveryStepOfNewtonFromAWarmStartLowersTheLoss) {
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

TEST_F(RoundsTest, TheClipNormIsAChoiceOfUnits) {
  for (const std::string method : {"gd", "adam", "fc", "newton"}) {
    FitOptions options = options_of(method);
    options.method.rounds = 3;
    const LinearScores scores = fit(options);
    options.rows.clip_norm = 200.0;
    const LinearScores longer = fit(options);
    for (std::size_t e = 0; e < scores.weights.size(); ++e) {
      EXPECT_NEAR(longer.weights[e] * 100.0, scores.weights[e], 1e-6 * (1.0 + std::abs(scores.weights[e])));
    }
  }
}

// The seeded noise is one draw; without it all of these are at 0.87 or above.
TEST_F(RoundsTest, ClassesAreToldApartWithAndWithoutNoise) {
  for (const std::string method : {"gd", "adam", "newton", "fc"}) {
    for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid}) {
      FitOptions options = options_of(method);
      options.method.loss = loss;
      if (loss == Loss::kSigmoid) options.method.rounds = 40;
      const double exact = training_accuracy(fit(options));
      EXPECT_GE(exact, 0.85) << method << " " << to_string(loss);
      options.privacy.budget.non_private = false;
      options.privacy.budget.mu = 2.0;
      EXPECT_GE(training_accuracy(fit(options)), exact - 0.1) << method << " " << to_string(loss);
    }
  }
}

TEST(AutomaticMethod, HasAGramMatrixWhereItsSpectrumIsAffordable) {
  FitOptions options;
  EXPECT_EQ(resolved(options, 4096).method.name, "fc");
  EXPECT_EQ(resolved(options, 4097).method.name, "adam");
  EXPECT_EQ(resolved(options, 4097).rows.center, Centering::kDp);
  options.method.gram_share = 0.2;
  EXPECT_EQ(resolved(options, 4096).method.name, "fc");
  EXPECT_THROW(resolved(options, 4097), UsageError);
  options.rows.pool = 2;
  EXPECT_EQ(resolved(options, 4097).method.name, "fc");
  options.rows.pool = 1;
  options.rows.pca = 50;
  EXPECT_EQ(resolved(options, 20000).method.name, "fc");
  options.rows.pca = 0;
  options.rows.select = 4000;
  EXPECT_EQ(resolved(options, 20000).method.name, "fc");
}

TEST_F(RoundsTest, NewtonRefusesWhatItsHessiansDoNotFitInto) {
  FitOptions options = options_of("newton");
  options.data.classes = 1000;
  options.machine.memory_mib = 64;
  EXPECT_THROW(plan_fit(options, 1664), UsageError);
  options.machine.memory_mib = 16 << 10;
  EXPECT_NO_THROW(plan_fit(options, 1664));
}

}  // namespace
}  // namespace dpreduce
