#include "forecast/prediction_memory.hpp"

#include "common/model/classifier.hpp"
#include "common/model/metrics.hpp"
#include "common/ranks/lifetime.hpp"
#include "worker/feature_rows.hpp"

namespace dpreduce {
std::uint64_t memory_of_test(const TestedModel& model) {
  constexpr std::uint64_t kReportOfClass = 256;  // four figures, as JSON values and as text
  const std::size_t classes = model.classes;
  const std::uint64_t chunk = rows_predicted_at_once(model.input_dim, classes, model.labels_per_row) *
                              bytes_of_predicted_row(model.input_dim, classes, model.labels_per_row);
  const std::uint64_t weights =
      2 * model.heads * sizeof(double) * classes * (model.dim + 1);  // as they are, and in tiles
  const std::uint64_t blocks = model.threads * kRowsScoredAtOnce * sizeof(double) * (model.dim + model.heads * classes);
  return chunk + weights + blocks + ClassCounts::bytes(classes) + kReportOfClass * classes;
}

std::uint64_t memory_of_test(const FitOptions& options, const FitPlan& plan) {
  return memory_of_test(
      {.input_dim = plan.preprocessing.input_dim,
       .dim = plan.dim,
       .classes = options.data.classes,
       .labels_per_row = options.data.most_labels() > 1 ? options.data.classes : options.data.label_slots(),
       .heads = options.method.warm_start ? std::size_t{2} : std::size_t{1},
       .threads = options.machine.threads > 0 ? options.machine.threads : default_threads()});
}

}  // namespace dpreduce
