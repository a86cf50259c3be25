// Counts of right and wrong answers: accuracy, also of two models and of groups of rows; recall and precision of each
// class, and balanced accuracy, the mean of recall; the confusion matrix; the share of rows whose class is among the k
// largest scores; F1 of label sets.
//
//     block            elements    what a row of class y, whose largest score is of class p, adds
//     totals           2           1 to right, or to wrong                   (accuracy; the number of rows of losses)
//     pairs            4           of two models: 1 to both, second only, first only or none right; in place of totals
//     by_group         2 G         1 to right or wrong of the row's group; a row of no listed group counts in none
//     by_class         2 K         1 to right or wrong of class y
//     by_prediction    2 K         1 to right or wrong of class p
//     confusion        K^2         1 to (y, p); with G groups of classes G^2, 1 to the groups of y and p
//     top_k            2           1 to right where y is among the k largest scores, else to wrong
//     sets             2           |Y n P| and the number of other classes of Y u P: micro F1 = 2 r / (2 r + w)
//     sets_by_class    2 K         each class of Y u P: 1 to right where it is in both, else to wrong
//
// Sets: a row has at most k classes Y, and at most m predicted classes P, the ones with the largest scores, from the
// threshold on. A set of more than k classes counts nowhere. A row moves the blocks of sets, squared, by (k + m)^2 and
// min(k + m, K); an exchanged row by min(k, m)^2 + (k + m)^2, and by twice as many cells.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

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

void declare_answers(const EvaluationTerms& terms, MetricBlocks& blocks) {
  const auto count_right = [](const ScoredRow& row, const RowCells& to) { to.count_in_pair(0, row.is_right()); };
  if (terms.has_totals()) blocks.counts("totals", 2, count_right);
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
  if (terms.has(EvaluationMetric::kRecall)) {
    blocks.counts("by_class", 2 * terms.classes, [](const ScoredRow& row, const RowCells& to) {
      if (row.label >= 0) to.count_in_pair(row.label, row.is_right());
    });
  }
  if (terms.has(EvaluationMetric::kPrecision)) {
    blocks.counts("by_prediction", 2 * terms.classes,
                  [](const ScoredRow& row, const RowCells& to) { to.count_in_pair(row.predicted, row.is_right()); });
  }
  if (terms.has(EvaluationMetric::kConfusion)) {
    const std::size_t groups = terms.confusion_groups();
    blocks.counts("confusion", groups * groups, [&terms, groups](const ScoredRow& row, const RowCells& to) {
      const auto group_of = [&](std::int32_t c) { return terms.confusion_group(static_cast<std::size_t>(c)); };
      if (row.label >= 0) to.count(group_of(row.label) * groups + group_of(row.predicted));
    });
  }
  if (terms.has(EvaluationMetric::kTopK)) {
    blocks.counts("top_k", 2, [k = terms.top_k](const ScoredRow& row, const RowCells& to) {
      to.count_in_pair(0, is_among_largest(row, k));
    });
  }
  if (terms.has(EvaluationMetric::kF1)) declare_label_sets(terms, blocks);
}

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

// Noised counts, and between which numbers of rows one expects among as many rows: noise, and sampling as of Poisson's.
nlohmann::json confusion_json(const MetricReleases& from) {
  const ReleasedBlock& block = from.releases.front().block("confusion");
  nlohmann::json json{{"noise", block.sigma()}};
  if (!from.terms.class_groups.empty()) json["class_groups"] = from.terms.class_groups;
  const std::size_t columns = from.terms.confusion_groups();
  const double z = two_sided_quantile(from.level);
  for (const auto& [name, side] : {std::pair{"counts", 0.0}, std::pair{"low", -z}, std::pair{"high", z}}) {
    nlohmann::json rows = nlohmann::json::array();
    for (std::size_t e = 0; e < block.values().size(); ++e) {
      if (e % columns == 0) rows.push_back(nlohmann::json::array());
      const auto count = static_cast<double>(block.values()[e]);
      const double reach = side * std::hypot(block.sigma(), std::sqrt(std::max(count, 0.0) + 1.0));
      rows.back().push_back(side == 0.0 ? count : std::max(count + reach, 0.0));
    }
    json[name] = std::move(rows);
  }
  return json;
}

void tell_label_sets(const MetricReleases& from, nlohmann::json& told) {
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

void tell_answers(const MetricReleases& from, nlohmann::json& told) {
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
  if (from.has(EvaluationMetric::kRecall)) {
    const std::vector<Estimate> recall = shares_of(from.numbers("by_class").pairs(), from.level);
    told["recall"] = by_number(recall, "class");
    told["balanced_accuracy"] = figure_json(mean_of(recall, from.level));
  }
  if (from.has(EvaluationMetric::kPrecision)) {
    told["precision"] = by_number(shares_of(from.numbers("by_prediction").pairs(), from.level), "class");
  }
  if (from.has(EvaluationMetric::kConfusion)) told["confusion"] = confusion_json(from);
  if (from.has(EvaluationMetric::kTopK)) {
    const NoisedCounts found = from.numbers("top_k").pairs().front();
    told["top_k"] = figure_json(estimate_share(found, from.level), 1.0, {{"k", from.terms.top_k}});
  }
  if (from.has(EvaluationMetric::kF1)) tell_label_sets(from, told);
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

extern constinit const MetricEntry answers_entry{declare_answers, tell_answers};

}  // namespace dpreduce
