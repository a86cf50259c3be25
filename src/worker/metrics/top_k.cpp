// Share of rows whose class is among the k largest scores.
//
//     block    elements    what a row of class y adds
//     top_k    2           1 to right where y is among the k largest scores, else to wrong
#include "worker/metrics/metric_entry.hpp"

namespace dpreduce {
namespace {

// Among equal scores the smaller class goes first, as in predictions.
bool is_among_largest(const ScoredRow& row, std::size_t top_k) {
  if (row.label < 0) return false;
  const auto y = static_cast<std::size_t>(row.label);
  std::size_t before = 0;
  for (std::size_t c = 0; c < row.scores.size(); ++c) {
    before += row.scores[c] > row.scores[y] || (row.scores[c] == row.scores[y] && c < y) ? 1 : 0;
  }
  return before < top_k;
}

void declare_top_k(const EvaluationTerms& terms, MetricBlocks& blocks) {
  if (!terms.has(EvaluationMetric::kTopK)) return;
  blocks.counts("top_k", 2, [k = terms.top_k](const ScoredRow& row, const RowCells& to) {
    to.count_in_pair(0, is_among_largest(row, k));
  });
}

void tell_top_k(const MetricReleases& from, nlohmann::json& told) {
  if (!from.has(EvaluationMetric::kTopK)) return;
  const NoisedCounts found = from.numbers("top_k").pairs().front();
  told["top_k"] = figure_json(estimate_share(found, from.level), 1.0, {{"k", from.terms.top_k}});
}

}  // namespace

extern constinit const MetricEntry top_k_entry{declare_top_k, tell_top_k};

}  // namespace dpreduce
