// Release "evaluation": what test rows say of a model, in counts and sums of bounded losses (metric_counts.hpp).
#include "common/base/error.hpp"
#include "worker/feature_rows.hpp"
#include "worker/statistics/metric_counts.hpp"

namespace dpreduce {
namespace evaluation_entry {

// Adds the rows of a chunk to the counts, as a model scores them.
class ScoredChunk {
 public:
  ScoredChunk(const ModelsPoint& point, const StatisticInputs& inputs)
      : models_(point.models), terms_(point.terms), inputs_(inputs) {}

  void count(const RowChunk& chunk, std::span<const float> features, MetricCounts& counts) {
    const Classifier& model = models_.front();
    const std::size_t classes = model.classes();
    std::vector<double> scores;
    std::vector<std::int32_t> predicted;
    if (terms_.needs_scores()) {
      scores = model.predict_scores(features, inputs_.plan.threads);
    } else {
      predicted = model.predict_labels(features, inputs_.plan.threads);
    }
    std::vector<std::int32_t> by_second;
    if (terms_.has_pair) by_second = models_.back().predict_labels(features, inputs_.plan.threads);
    for (std::size_t row = 0; row < chunk.rows; ++row) {
      ScoredRow scored{.label = chunk.labels[row], .predicted = 0};
      if (inputs_.rows.has_weights()) scored.weight = inputs_.rows.weight(chunk.first_row + row);
      if (terms_.needs_scores()) {
        scored.scores = std::span(scores).subspan(row * classes, classes);
        scored.predicted = argmax(scored.scores);
      } else {
        scored.predicted = predicted[row];
      }
      if (terms_.needs_probabilities()) {
        probabilities_.assign(scored.scores.begin(), scored.scores.end());
        model.to_probabilities(probabilities_);
        scored.probabilities = probabilities_;
      }
      if (terms_.groups > 0) scored.group = inputs_.rows.group(chunk.first_row + row);
      if (terms_.has_pair) scored.predicted_by_second = by_second[row];
      counts.add(scored);
    }
  }

 private:
  std::span<const Classifier> models_;
  const EvaluationTerms& terms_;
  const StatisticInputs& inputs_;
  std::vector<double> probabilities_;
};

Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const auto* const point = std::get_if<ModelsPoint>(&inputs.point);
  DPREDUCE_ASSERT(point != nullptr && !point->models.empty());
  MetricCounts counts(point->terms, request, point->curve);
  if (inputs.rows.is_none()) return std::move(counts).take();
  ScoredChunk scored(*point, inputs);
  for_each_feature_chunk(
      inputs.rows, point->models.front().classes(), inputs.plan.bad_rows,
      [&](const RowChunk& chunk, std::span<const float> features) { scored.count(chunk, features, counts); },
      inputs.on_chunk);
  return std::move(counts).take();
}

// Scores, d multiply-adds a class, of a model that every rank has.
StatisticCost cost_of(const ReleaseRequest& request, const CostTerms&) {
  return {.round_macs = static_cast<double>(request.dim)};
}

}  // namespace evaluation_entry

namespace statistics {
extern constinit const StatisticEntry positives{
    "positives",      TakenAt::kModels, positives_request, evaluation_entry::compute, evaluation_entry::cost_of,
    UnitClip::kWeight};
extern constinit const StatisticEntry evaluation{
    "evaluation",     TakenAt::kModels, evaluation_request, evaluation_entry::compute, evaluation_entry::cost_of,
    UnitClip::kWeight};
}  // namespace statistics

}  // namespace dpreduce
