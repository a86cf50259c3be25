// Recall and precision of each class, and balanced accuracy, the mean of recall.
//
//     block            elements    what a row of class y, whose largest score is of class p, adds
//     by_class         2 K         1 to right or wrong of class y
//     by_prediction    2 K         1 to right or wrong of class p
#include "worker/metrics/metric_entry.hpp"

namespace dpreduce {
namespace {

void declare_class_shares(const EvaluationTerms& terms, MetricBlocks& blocks) {
  if (terms.has(EvaluationMetric::kRecall)) {
    blocks.counts("by_class", 2 * terms.classes, [](const ScoredRow& row, const RowCells& to) {
      if (row.label >= 0) to.count_in_pair(row.label, row.is_right());
    });
  }
  if (terms.has(EvaluationMetric::kPrecision)) {
    blocks.counts("by_prediction", 2 * terms.classes,
                  [](const ScoredRow& row, const RowCells& to) { to.count_in_pair(row.predicted, row.is_right()); });
  }
}

void tell_class_shares(const MetricReleases& from, nlohmann::json& told) {
  if (from.has(EvaluationMetric::kRecall)) {
    const std::vector<Estimate> recall = shares_of(from.numbers("by_class").pairs(), from.level);
    told["recall"] = by_number(recall, "class");
    told["balanced_accuracy"] = figure_json(mean_of(recall, from.level));
  }
  if (from.has(EvaluationMetric::kPrecision)) {
    told["precision"] = by_number(shares_of(from.numbers("by_prediction").pairs(), from.level), "class");
  }
}

}  // namespace

extern constinit const MetricEntry class_shares_entry{declare_class_shares, tell_class_shares};

}  // namespace dpreduce
