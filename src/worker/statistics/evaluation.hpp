// Releases "evaluation" and "positives": counts of right and wrong answers of a model on test rows, and sums of bounded
// losses. Their blocks, sensitivities and figures are those of the metrics (worker/metrics).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "common/ledger/evaluation_terms.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/ledger/statistic.hpp"
#include "worker/metrics/metric_entry.hpp"
#include "worker/statistic_entry.hpp"

namespace dpreduce {

/// Release "evaluation" of terms.evaluation. `loss_weight`s divide the budget so that the mean width of figures is
/// about least if every figure counts the same. Precondition (asserted): there is a metric.
ReleaseRequest evaluation_request(const ReleaseTerms& terms, double share);

/// Release "positives" of terms.evaluation.
ReleaseRequest positives_request(const ReleaseTerms& terms, double share);

/// Blocks of evaluation_request, or of positives_request at a curve, computed row by row.
class MetricCounts {
 public:
  /// Refers to `terms`, which outlive the object. Throws AggregationAborted if the curve is not within [0, 1]: silos
  /// need not trust their coordinator.
  MetricCounts(const EvaluationTerms& terms, const ReleaseRequest& request, std::span<const double> curve = {});
  /// Adds a row. Preconditions (asserted): classes below K, and as many probabilities, targets and errors as are
  /// needed.
  void add(const ScoredRow& row);
  Statistic take() && { return std::move(statistic_); }

 private:
  const EvaluationTerms& terms_;
  std::vector<MetricBlock> blocks_;
  Statistic statistic_;
};

}  // namespace dpreduce
