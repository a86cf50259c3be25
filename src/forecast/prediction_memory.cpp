#include "forecast/prediction_memory.hpp"

#include <algorithm>

#include "common/model/classifier.hpp"
#include "common/model/metrics.hpp"
#include "common/ranks/lifetime.hpp"

namespace dpreduce {
namespace {

std::size_t bytes_of_predicted_row(std::size_t input_dim, std::size_t classes, std::size_t labels_per_row) {
  return 3 * sizeof(float) * input_dim + sizeof(double) * classes + sizeof(std::int32_t) * labels_per_row;
}

}  // namespace

std::size_t rows_predicted_at_once(std::size_t input_dim, std::size_t classes, std::size_t labels_per_row) {
  constexpr std::size_t kMostRows = 4096;
  return std::clamp<std::size_t>(kPredictionMemory / bytes_of_predicted_row(input_dim, classes, labels_per_row), 1,
                                 kMostRows);
}

std::uint64_t memory_of_test(const FitOptions& options, const FitPlan& plan) {
  constexpr std::uint64_t kReportOfClass = 256;  // four figures, as JSON values and as text
  const std::size_t classes = options.data.classes;
  const std::size_t input_dim = plan.preprocessing.input_dim;
  const std::size_t labels = options.data.most_labels() > 1 ? classes : 1;
  const std::uint64_t chunk =
      rows_predicted_at_once(input_dim, classes, labels) * bytes_of_predicted_row(input_dim, classes, labels);
  const std::uint64_t heads = options.method.warm_start ? 2 : 1;
  const std::uint64_t model = 2 * heads * sizeof(double) * classes * (plan.dim + 1);  // as it is, and in tiles
  const unsigned threads = options.machine.threads > 0 ? options.machine.threads : default_threads();
  const std::uint64_t blocks = threads * kRowsScoredAtOnce * sizeof(double) * (plan.dim + heads * classes);
  return chunk + model + blocks + ClassCounts::bytes(classes) + kReportOfClass * classes;
}

}  // namespace dpreduce
