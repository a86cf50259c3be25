#include "forecast/prediction_memory.hpp"

#include "common/model/classifier.hpp"
#include "common/model/metrics.hpp"
#include "common/ranks/lifetime.hpp"
#include "worker/feature_rows.hpp"

namespace dpreduce {
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
