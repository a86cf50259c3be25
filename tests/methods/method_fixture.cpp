#include "tests/methods/method_fixture.hpp"

#include <nlohmann/json.hpp>

#include "tests/methods/trained_scores.hpp"

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
  options.privacy.budget = {{.mu = mu}};
  return options;
}

LinearScores MethodTest::fit(const FitOptions& options, std::size_t memory_bytes) const {
  std::optional<WorkerRows> candidates;
  if (!public_x_.empty()) candidates = WorkerRows::in_memory(array_view(public_x_, input_dim_), {}, "public");
  Communicator alone = Communicator::join();
  TrainedScores trained = trained_scores(alone, options, input_dim_,
                                         WorkerRows::in_memory(array_view(x_, input_dim_), array_view(y_), "x", "y"),
                                         folder_ / "ledger", 5, memory_bytes, candidates ? &*candidates : nullptr);
  trained_on_ = std::move(trained.prepared);
  return std::move(trained.scores);
}

std::vector<double> MethodTest::prepared_row(const std::vector<float>& x, std::size_t index) const {
  const std::span<const float> entries = std::span(x).subspan(index * input_dim_, input_dim_);
  const double length = std::sqrt(std::inner_product(entries.begin(), entries.end(), entries.begin(), 0.0));
  std::vector<double> row(entries.begin(), entries.end());
  for (double& entry : row) entry *= kClipNorm / length;
  return row;
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
  return std::inner_product(labels.begin(), labels.end(), y_.begin(), 0.0, std::plus<>(), std::equal_to<>()) /
         static_cast<double>(labels.size());
}

nlohmann::json MethodTest::settings_of(const FitOptions& options) {
  return make_method(options)->settings();
}

}  // namespace dpreduce
