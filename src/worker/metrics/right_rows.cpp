// Accuracy, also of two models and of groups of rows.
//
//     block       elements    what a row adds
//     totals      2           1 to right, or to wrong                      (accuracy; the number of rows of losses)
//     pairs       4           of two models: 1 to both, second only, first only or none right; in place of totals
//     by_group    2 G         1 to right or wrong of the row's group; a row of no listed group counts in none
#include <cmath>
#include <numbers>
#include <utility>

#include "worker/metrics/metric_entry.hpp"

namespace dpreduce {
namespace {

// Two noised versions of the same counts as one, weighted by their precision.
NoisedCounts together(const NoisedCounts& a, const NoisedCounts& b) {
  const double of_a = b.sigma * b.sigma / (a.sigma * a.sigma + b.sigma * b.sigma);
  return {of_a * a.right + (1.0 - of_a) * b.right, of_a * a.wrong + (1.0 - of_a) * b.wrong,
          a.sigma * b.sigma / std::hypot(a.sigma, b.sigma)};
}

// Right and wrong rows of the first or the second of two models.
NoisedCounts rows_of_model(const BlockNumbers& pairs, bool is_second) {
  const std::vector<double>& n = pairs.values;  // both, second only, first only, none
  return {n[0] + n[is_second ? 1 : 2], n[is_second ? 2 : 1] + n[3], std::numbers::sqrt2 * pairs.sigma};
}

void declare_right_rows(const EvaluationTerms& terms, MetricBlocks& blocks) {
  if (terms.has_totals()) {
    blocks.counts("totals", 2, [](const ScoredRow& row, const RowCells& to) { to.count_in_pair(0, row.is_right()); });
  }
  if (terms.has_pair) {
    blocks.counts("pairs", 4, [](const ScoredRow& row, const RowCells& to) {
      to.count_in_pair(row.predicted_by_second == row.label ? 0 : 1, row.is_right());
    });
  }
  if (terms.groups > 0) {
    blocks.counts("by_group", 2 * terms.groups, [](const ScoredRow& row, const RowCells& to) {
      if (row.group >= 0) to.count_in_pair(row.group, row.is_right());
    });
  }
}

void tell_right_rows(const MetricReleases& from, nlohmann::json& told) {
  if (from.has(EvaluationMetric::kAccuracy) || from.terms.has_pair) {
    told["accuracy"] = figure_json(estimate_share(totals_of(from).value(), from.level));
  }
  if (from.terms.has_pair) {
    const BlockNumbers pairs = from.numbers("pairs");
    const Estimate difference = estimate_difference(pairs.values, pairs.sigma, from.level);
    const double deviations = difference.value / std::max(difference.deviation, 1e-12);
    told["accuracy_b"] = figure_json(estimate_share(rows_of_model(pairs, true), from.level));
    told["difference"] =
        figure_json(difference, 2.0, {{"b_is_better", 0.5 * std::erfc(-deviations / std::numbers::sqrt2)}});
  }
  if (from.terms.groups > 0) {
    const std::vector<NoisedCounts> groups = from.numbers("by_group").pairs();
    told["by_group"] = by_number(shares_of(groups, from.level), "group");
    if (groups.size() > 1) told["largest_gap"] = figure_json(estimate_largest_gap(groups, from.level));
  }
}

}  // namespace

std::optional<NoisedCounts> totals_of(const MetricReleases& from) {
  std::optional<NoisedCounts> totals;
  if (from.terms.has_totals()) totals = from.numbers("totals").pairs().front();
  if (from.terms.has_pair) totals = rows_of_model(from.numbers("pairs"), false);
  if (totals && from.has(EvaluationMetric::kRecall)) {
    totals = together(*totals, from.numbers("by_class").sum_of_pairs());
  }
  return totals;
}

extern constinit const MetricEntry right_rows_entry{declare_right_rows, tell_right_rows};

}  // namespace dpreduce
