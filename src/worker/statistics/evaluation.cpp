#include "worker/statistics/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/error.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/metrics/score_curve.hpp"

namespace dpreduce {
namespace {

ReleaseRequest request_of(const char* name, const MetricBlocks& blocks, const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(!blocks.all.empty());
  const bool is_exchange = terms.adjacency == Adjacency::kReplaceOne;
  ReleaseRequest request{.name = name,
                         .share = share,
                         .blocks = {},
                         .profiles = {{is_exchange ? "another row" : "one row more or less", {}}}};
  for (const MetricBlock& block : blocks.all) {
    request.blocks.push_back({.name = block.name,
                              .elements = block.elements,
                              .loss_weight = block.loss_weight,
                              .fraction_bits = block.counts_rows ? terms.count_bits() : 0});
    request.profiles.front().squared_l2.push_back(is_exchange ? block.exchanged : block.squared_l2);
  }
  return request;
}

}  // namespace

MetricCounts::MetricCounts(const EvaluationTerms& terms, const ReleaseRequest& request, std::span<const double> curve)
    : terms_(terms), statistic_(empty_statistic(request)) {
  std::vector<std::int64_t> units;
  for (const double share : curve) {
    if (!(share >= 0.0 && share <= 1.0)) throw AggregationAborted("the coordinator's curve is out of range");
    units.push_back(static_cast<std::int64_t>(std::floor(share * kLossUnits)));
  }
  DPREDUCE_ASSERT(units.empty() || units.size() == terms.score_bins);
  blocks_ = units.empty() ? blocks_of(terms).all : blocks_of_positives(terms, units).all;
  DPREDUCE_ASSERT(blocks_.size() == statistic_.shape().size());
}

void MetricCounts::add(const ScoredRow& row) {
  const auto classes = static_cast<std::int64_t>(terms_.classes);
  DPREDUCE_ASSERT(row.label < classes && row.predicted >= 0 && row.predicted < classes);
  DPREDUCE_ASSERT(!terms_.needs_probabilities() || row.probabilities.size() == terms_.classes);
  DPREDUCE_ASSERT(row.labels.size() <= terms_.most_labels && row.predicted_labels.size() <= terms_.most_predicted);
  DPREDUCE_ASSERT(!terms_.has_targets || (row.targets.size() == terms_.classes && row.errors.size() == terms_.classes));
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    blocks_[block].add(row, {statistic_.block(block), row.weight, statistic_.shape()[block].fraction_bits > 0});
  }
}

ReleaseRequest evaluation_request(const ReleaseTerms& terms, double share) {
  return request_of("evaluation", blocks_of(terms.evaluation), terms, share);
}

ReleaseRequest positives_request(const ReleaseTerms& terms, double share) {
  return request_of("positives", blocks_of_positives(terms.evaluation, {}), terms, share);
}

namespace {

// Counts of rows, as models score them.
class ScoredRows {
 public:
  ScoredRows(const ModelsPoint& point, const ReleaseRequest& request, const StatisticInputs& inputs)
      : models_(point.models), terms_(point.terms), inputs_(inputs), counts_(point.terms, request, point.curve) {}

  void count(const RowChunk& chunk, std::span<const float> features) {
    const Classifier& model = models_.front();
    if (terms_.has_targets) return count_numbers(chunk, features);
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
      if (terms_.most_labels > 0) {
        count_set(chunk, row, std::span(scores).subspan(row * classes, classes));
        continue;
      }
      ScoredRow scored{.label = chunk.labels[row], .weight = weight_of(chunk, row)};
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
      counts_.add(scored);
    }
  }

  Statistic take() { return std::move(counts_).take(); }

 private:
  RowWeight weight_of(const RowChunk& chunk, std::size_t row) const {
    return inputs_.rows.has_weights() ? inputs_.rows.weight(chunk.first_row + row) : kWholeRow;
  }

  void count_numbers(const RowChunk& chunk, std::span<const float> features) {
    const Classifier& model = models_.front();
    const TargetColumns& columns = model.parts().preprocessing.targets;
    const std::vector<double> predicted = model.predict_scores(features, inputs_.plan.threads);
    std::vector<double> errors(columns.count);
    std::vector<double> targets(columns.count);
    for (std::size_t row = 0; row < chunk.rows; ++row) {
      const std::span<const std::int32_t> slots = slots_of(chunk.labels, chunk.labels_per_row, row);
      if (!are_finite_targets(slots)) continue;
      // y - f about c, so that it is scaled as a target is.
      for (std::size_t t = 0; t < columns.count; ++t) {
        errors[t] = target_in(slots, t) - predicted[row * columns.count + t] + columns.center[t];
      }
      columns.scaled_numbers(errors, errors);
      columns.scaled(slots, targets);
      counts_.add({.weight = weight_of(chunk, row), .targets = targets, .errors = errors});
    }
  }

  // A row of more than k classes stops the run, or counts nowhere.
  void count_set(const RowChunk& chunk, std::size_t row, std::span<const double> scores) {
    if (!has_few_classes(chunk, row, terms_.most_labels, inputs_.plan.bad_rows, inputs_.rows)) return;
    const double threshold = terms_.threshold.value();
    predicted_.clear();
    for (std::size_t c = 0; c < scores.size(); ++c) {
      if (scores[c] >= threshold) predicted_.push_back(static_cast<std::int32_t>(c));
    }
    if (predicted_.size() > terms_.most_predicted) {
      const auto end = predicted_.begin() + static_cast<std::ptrdiff_t>(terms_.most_predicted);
      const auto score_of = [&](std::int32_t c) { return scores[static_cast<std::size_t>(c)]; };
      std::ranges::nth_element(predicted_, end, [&](std::int32_t a, std::int32_t b) {
        return std::pair(-score_of(a), a) < std::pair(-score_of(b), b);
      });
      predicted_.erase(end, predicted_.end());
      std::ranges::sort(predicted_);
    }
    counts_.add({.weight = weight_of(chunk, row), .labels = chunk.classes_of(row), .predicted_labels = predicted_});
  }

  std::span<const Classifier> models_;
  const EvaluationTerms& terms_;
  const StatisticInputs& inputs_;
  MetricCounts counts_;
  std::vector<double> probabilities_;
  std::vector<std::int32_t> predicted_;
};

Statistic evaluation_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const auto* const point = std::get_if<ModelsPoint>(&inputs.point);
  DPREDUCE_ASSERT(point != nullptr && !point->models.empty());
  ScoredRows scored(*point, request, inputs);
  if (inputs.rows.is_none()) return scored.take();
  for_each_feature_chunk(
      inputs.rows, point->models.front().classes(), inputs.plan.bad_rows,
      [&](const RowChunk& chunk, std::span<const float> features) { scored.count(chunk, features); }, inputs.on_chunk);
  return scored.take();
}

constexpr StatisticEntry kEvaluationStatistics[] = {
    {"positives", TakenAt::kModels, UnitForm::kWeighed, positives_request, evaluation_statistic},
    {"evaluation", TakenAt::kModels, UnitForm::kWeighed, evaluation_request, evaluation_statistic}};

}  // namespace

extern constinit const std::span<const StatisticEntry> evaluation_statistics{kEvaluationStatistics};

}  // namespace dpreduce
