#include "tests/methods/method_fixture.hpp"

#include <nlohmann/json.hpp>

#include "common/base/version.hpp"
#include "common/lattice/row_transform.hpp"
#include "fit/resolved_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

MethodTest::MethodTest() : x_(kRows * kInputDim), y_(kRows) {
  std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  std::vector<float> means(kClasses * kInputDim);
  for (float& entry : means) entry = 1.5F * normal(engine);
  for (std::size_t i = 0; i < kRows; ++i) {
    const std::size_t label = std::min<std::size_t>(engine() % (kClasses + 2), kClasses - 1);
    y_[i] = static_cast<std::int32_t>(label);
    for (std::size_t a = 0; a < kInputDim; ++a) x_[i * kInputDim + a] = means[label * kInputDim + a] + normal(engine);
  }
}

double MethodTest::intercept_of(std::string_view method) {
  return method == "fc" ? kInterceptOfWhitened : kIntercept;
}

FitOptions MethodTest::options_of(std::string_view method) {
  FitOptions options;
  options.data.classes = kClasses;
  options.method.name = method;
  options.rows.clip_norm = kClipNorm;
  options.rows.center = Centering::kNone;
  options.privacy.budget.non_private = true;
  options.machine.memory_mib = 16;
  return options;
}

FitOptions MethodTest::options_of(std::string_view method, double mu) {
  FitOptions options = options_of(method);
  options.privacy.budget.non_private = false;
  options.privacy.budget.mu = mu;
  return options;
}

std::string MethodTest::features_file(const std::string& name, const std::vector<float>& x) const {
  write_npy(folder_ / name, x, input_dim_);
  return folder_ / name;
}

LinearScores MethodTest::fit(const FitOptions& options, std::size_t memory_bytes) const {
  const std::string labels = folder_ / "y.npy";
  write_npy(labels, y_);
  WorkerRows rows = WorkerRows::open({features_file("x.npy", x_)}, {labels}, 0, 1);
  std::optional<WorkerRows> candidates;
  if (!public_x_.empty()) candidates = WorkerRows::open({features_file("p.npy", public_x_)}, {}, 0, 1);

  Communicator alone = Communicator::join();
  const FitPlan plan = make_fit_plan(options, input_dim_, public_x_.size() / input_dim_);
  std::unique_ptr<Releaser> releaser = std::make_unique<Releaser>(alone);
  if (plan.noise) {
    releaser = std::make_unique<Releaser>(alone, *plan.noise, RunFile(),
                                          Charging{.ledger_path = folder_ / "ledger", .seed = 5},
                                          RunTerms{.method = "test",
                                                   .accountant = Accountant::kGdp,
                                                   .epsilon = {},
                                                   .delta = {},
                                                   .config_digest = plan.config_digest,
                                                   .version = version()});
  }
  const StreamPlan stream{options.data.classes, BadRows::kFail, memory_bytes, 1};
  Timings timings;
  TrainingRun run(alone, rows, *releaser, plan, stream, [](std::string_view) -> OnChunk { return [](double) {}; },
                  timings, {.candidates = candidates ? &*candidates : nullptr});
  LinearScores scores = make_method(options)->train(run);
  trained_on_ = run.rows().preprocessing();
  return scores;
}

ReferenceRows MethodTest::lattice_rows() const {
  ReferenceRows rows = lattice_rows(trained_on_);
  if (!trained_on_.projection.empty()) rows.curvature = curvature();
  return rows;
}

ReferenceRows MethodTest::lattice_rows(const Preprocessing& preprocessing) const {
  const RowTransform transform(preprocessing);
  ReferenceRows rows{{kClipNorm, transform.output_dim()}, kClasses, {}, y_};
  std::vector<double> row(transform.output_dim());
  for (std::size_t i = 0; i < y_.size(); ++i) {
    transform(std::span(x_).subspan(i * input_dim_, input_dim_), row);
    rows.q.emplace_back(row.size());
    quantize_row(row, rows.lattice, rows.q.back());
  }
  return rows;
}

std::vector<double> MethodTest::prepared_row(const std::vector<float>& x, std::size_t index) const {
  const std::span<const float> entries = std::span(x).subspan(index * input_dim_, input_dim_);
  const double length = std::sqrt(std::inner_product(entries.begin(), entries.end(), entries.begin(), 0.0));
  std::vector<double> row(entries.begin(), entries.end());
  for (double& entry : row) entry *= kClipNorm / length;
  return row;
}

// E of whitened rows M x, from the second moments of rows that are not, G: (1 - a) tr G M G M / tr(M G M), and a tr G
// for the intercept. M is what whitens G + ridge I.
std::vector<double> MethodTest::curvature() const {
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

double MethodTest::error_of_rounds(const FitOptions& options) const {
  const LinearScores scores = fit(options);
  const double intercept = intercept_of(options.method.name);
  EXPECT_EQ(trained_on_.intercept, intercept);
  const LinearScores expected = fold_intercept(reference_fit(lattice_rows(), options, intercept), trained_on_);
  double size = 0.0;
  double error = 0.0;
  for (std::size_t e = 0; e < expected.weights.size(); ++e) {
    size = std::max(size, std::abs(expected.weights[e]));
    error = std::max(error, std::abs(scores.weights[e] - expected.weights[e]));
  }
  for (std::size_t c = 0; c < kClasses; ++c) error = std::max(error, std::abs(scores.bias[c] - expected.bias[c]));
  return error / size;
}

Classifier MethodTest::classifier_of(const LinearScores& scores) const {
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

double MethodTest::training_accuracy(const LinearScores& scores) const {
  const std::vector<std::int32_t> labels = classifier_of(scores).predict_labels(x_);
  std::size_t correct = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) correct += labels[i] == y_[i] ? 1 : 0;
  return static_cast<double>(correct) / static_cast<double>(labels.size());
}

nlohmann::json MethodTest::settings_of(const FitOptions& options) {
  return make_method(options)->settings();
}

}  // namespace dpreduce
