// F1 of label sets: a row has at most k classes Y, and at most m predicted classes P, the ones with the largest scores,
// from the threshold on. A set of more than k classes counts nowhere.
//
//     block            elements    what a row adds
//     sets             2           |Y n P| and the number of other classes of Y u P: micro F1 = 2 r / (2 r + w)
//     sets_by_class    2 K         each class of Y u P: 1 to right where it is in both, else to wrong
//
// A row moves them, squared, by (k + m)^2 and min(k + m, K); an exchanged row by min(k, m)^2 + (k + m)^2, and by twice
// as many cells.
#include <algorithm>

#include "worker/metrics/metric_entry.hpp"

namespace dpreduce {
namespace {

// Counts each class of either set as right, where it is in both, or wrong: in a pair of its own, or all in one.
void count_sets(const ScoredRow& row, const RowCells& to, bool by_class) {
  for (const std::int32_t c : row.labels) {
    to.count_in_pair(by_class ? c : 0, std::ranges::binary_search(row.predicted_labels, c));
  }
  for (const std::int32_t c : row.predicted_labels) {
    if (!std::ranges::binary_search(row.labels, c)) to.count_in_pair(by_class ? c : 0, false);
  }
}

void declare_label_sets(const EvaluationTerms& terms, MetricBlocks& blocks) {
  if (!terms.has(EvaluationMetric::kF1)) return;
  const std::uint64_t most = terms.most_labels + terms.most_predicted;
  const std::uint64_t both = std::min(terms.most_labels, terms.most_predicted);
  MetricBlock& sets =
      blocks.counts("sets", 2, [](const ScoredRow& row, const RowCells& to) { count_sets(row, to, false); });
  sets.loss_weight = 1.0 / static_cast<double>(most * most);
  sets.squared_l2 = most * most;
  sets.exchanged = most * most + both * both;
  MetricBlock& by_class = blocks.counts("sets_by_class", 2 * terms.classes,
                                        [](const ScoredRow& row, const RowCells& to) { count_sets(row, to, true); });
  by_class.squared_l2 = std::min<std::uint64_t>(most, terms.classes);
  by_class.exchanged = 2 * by_class.squared_l2;
}

void tell_label_sets(const MetricReleases& from, nlohmann::json& told) {
  if (!from.has(EvaluationMetric::kF1)) return;
  std::vector<Estimate> f1;
  for (const Estimate& share : shares_of(from.numbers("sets_by_class").pairs(), from.level)) {
    f1.push_back(f1_of(share));
  }
  told["f1"] = by_number(f1, "class");
  // The classes of one row are right or wrong together.
  const auto alike = static_cast<double>(from.terms.most_labels + from.terms.most_predicted);
  const BlockNumbers sets(from.releases.front().block("sets"), from.rows_alike * alike);
  told["micro_f1"] = figure_json(f1_of(estimate_share(sets.pairs().front(), from.level)));
}

}  // namespace

extern constinit const MetricEntry label_sets_entry{declare_label_sets, tell_label_sets};

}  // namespace dpreduce
