#include "worker/metrics/score_curve.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr double kFarthestLogOdds = 8.0;

// Square of the deviation by sampling, of p positives and n negatives.
double squared_sampling_of_auc(double area, double p, double n) {
  const double twice = area / (2.0 - area) - area * area;
  const double other = 2.0 * area * area / (1.0 + area) - area * area;
  return std::max((area * (1.0 - area) + (p - 1.0) * twice + (n - 1.0) * other) / (p * n), 0.0);
}

Estimate auc_of(double area, double p, double n, double noise, double level) {
  const double deviation = std::hypot(noise, std::sqrt(squared_sampling_of_auc(area, p, n)));
  const double reach = two_sided_quantile(level) * deviation;
  return {area, std::max(area - reach, 0.0), std::min(area + reach, 1.0), noise, deviation};
}

void declare_score_curve(const EvaluationTerms& terms, MetricBlocks& blocks) {
  if (!terms.is_about_one_class()) return;
  const auto is_positive = [&terms](const ScoredRow& row) {
    return row.label == static_cast<std::int32_t>(terms.positive_class());
  };
  const auto bin = [&terms](const ScoredRow& row) {
    return score_bin(row.probabilities[terms.positive_class()], terms.score_bins);
  };
  if (terms.has(EvaluationMetric::kRoc)) {
    blocks.counts("scores", 2 * terms.score_bins,
                  [=](const ScoredRow& row, const RowCells& to) { to.count_in_pair(bin(row), is_positive(row)); });
  } else {
    MetricBlock& negatives =
        blocks.counts("negatives", terms.score_bins, [=](const ScoredRow& row, const RowCells& to) {
          if (!is_positive(row)) to.count(bin(row));
        });
    negatives.loss_weight = 1.0 / 9.0;  // a quarter beside positives: this noise is divided by many rows
  }
}

// Noised counts by bins of scores.
struct ScoreCounts {
  std::vector<double> positives;  // empty if negatives alone are counted
  std::vector<double> negatives;
  double sigma;
};

ScoreCounts counts_of(const Release& release, const EvaluationTerms& terms, double rows_alike = 1.0) {
  const bool has_scores = terms.has(EvaluationMetric::kRoc);
  const BlockNumbers block(release.block(has_scores ? "scores" : "negatives"), rows_alike);
  if (!has_scores) return {{}, block.values, block.sigma};
  ScoreCounts counts{{}, {}, block.sigma};
  for (const NoisedCounts& bin : block.pairs()) {
    counts.positives.push_back(bin.right);
    counts.negatives.push_back(bin.wrong);
  }
  return counts;
}

// Shares of rows from each bin on. Of a part and its rest the noise is taken to be that of the larger number of bins.
nlohmann::json points_of_roc(const ScoreCounts& of_classes, double level) {
  const std::size_t bins = of_classes.positives.size();
  const auto share_from = [&](const std::vector<double>& counts, std::size_t bin) {
    const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(bin);
    const double sigma = of_classes.sigma * std::sqrt(static_cast<double>(std::max(bin, bins - bin)));
    return figure_json(estimate_share(
        {std::accumulate(middle, counts.end(), 0.0), std::accumulate(counts.begin(), middle, 0.0), sigma}, level));
  };
  nlohmann::json points = nlohmann::json::array();
  for (std::size_t bin = 1; bin < bins; ++bin) {
    points.push_back({{"threshold", lower_edge_of_bin(bin, bins)},
                      {"true_positive_rate", share_from(of_classes.positives, bin)},
                      {"false_positive_rate", share_from(of_classes.negatives, bin)}});
  }
  return points;
}

// Adds the largest F1 of the class, 2 TP / (TP + FP + P), over thresholds that predict more rows than twice the noise
// of their number, and where it is: from probability p on, and, where classes can be weighed, with the weight w of the
// class, p w = 1 - p. The choice is by counts as released, so it costs nothing.
void tell_best_f1(const ScoreCounts& counts, const MetricReleases& from, nlohmann::json& told) {
  const auto& [positives, negatives, sigma] = counts;
  const std::size_t bins = positives.size();
  const double all = std::max(std::accumulate(positives.begin(), positives.end(), 0.0), 1.0);
  double found = 0.0;
  double others = 0.0;
  double best = 0.0;
  for (std::size_t bin = bins - 1; bin > 0; --bin) {
    found += positives[bin];
    others += negatives[bin];
    const double right = std::clamp(found, 0.0, all);
    const double wrong = std::max(others, 0.0) + all - right;
    const double f1 = 2.0 * right / (2.0 * right + wrong);
    if (found + others < 2.0 * sigma * std::sqrt(2.0 * static_cast<double>(bins - bin)) || f1 <= best) continue;
    best = f1;
    const double threshold = lower_edge_of_bin(bin, bins);
    told["best_f1"] =
        figure_json(f1_of(estimate_share({right, wrong, sigma * std::sqrt(static_cast<double>(bins))}, from.level)),
                    1.0, {{"class", from.terms.positive_class()}, {"threshold", threshold}});
    if (from.terms.has_odds && !told["best_f1"]["value"].is_null())
      told["best_f1"]["weight"] = (1.0 - threshold) / threshold;
  }
}

// Adds AUC and ROC of one class.
void tell_score_curve(const MetricReleases& from, nlohmann::json& told) {
  if (!from.terms.is_about_one_class()) return;
  const ScoreCounts counts = counts_of(from.releases.front(), from.terms, from.rows_alike);
  const auto& [positives, negatives, sigma] = counts;
  if (from.has(EvaluationMetric::kRoc)) {
    told["roc"] = {{"points", points_of_roc(counts, from.level)},
                   {"auc", figure_json(estimate_auc(positives, negatives, sigma, from.level))}};
    if (from.terms.classes == 2) tell_best_f1(counts, from, told);
  }
  if (!from.has(EvaluationMetric::kAuc)) return;
  DPREDUCE_ASSERT(from.releases.size() == 2);
  NoisedCounts sums = BlockNumbers(from.releases.back().block("above_negatives"), from.rows_alike).pairs().front();
  for (double* number : {&sums.right, &sums.wrong, &sums.sigma}) *number /= static_cast<double>(kLossUnits);
  const NoisedNegatives all{std::accumulate(negatives.begin(), negatives.end(), 0.0), sigma, negatives.size()};
  told["auc"] = figure_json(estimate_auc(sums, all, from.level));
}

}  // namespace

std::size_t score_bin(double probability, std::size_t bins) {
  if (!(probability > 0.0)) return 0;
  if (probability >= 1.0) return bins - 1;
  const double place = std::asinh(std::log(probability / (1.0 - probability))) / std::asinh(kFarthestLogOdds);
  return bin_of(std::max(0.5 + 0.5 * place, 0.0), bins);
}

double lower_edge_of_bin(std::size_t bin, std::size_t bins) {
  if (bin == 0) return 0.0;
  const double place = 2.0 * static_cast<double>(bin) / static_cast<double>(bins) - 1.0;
  return 1.0 / (1.0 + std::exp(-std::sinh(place * std::asinh(kFarthestLogOdds))));
}

std::vector<double> negatives_of(const Release& release, const EvaluationTerms& terms) {
  return counts_of(release, terms).negatives;
}

std::vector<double> curve_of_negatives(std::span<const double> negatives) {
  const double all = std::accumulate(negatives.begin(), negatives.end(), 0.0);
  std::vector<double> curve;
  double below = 0.0;
  for (const double in_bin : negatives) {
    curve.push_back(all > 0.0 ? std::clamp((below + in_bin / 2.0) / all, 0.0, 1.0) : 0.5);
    below += in_bin;
  }
  return curve;
}

MetricBlocks blocks_of_positives(const EvaluationTerms& terms, const std::vector<std::int64_t>& curve) {
  MetricBlocks blocks;
  blocks.sums("above_negatives", 2, 0.5, 2, [&terms, curve](const ScoredRow& row, const RowCells& to) {
    if (row.label != static_cast<std::int32_t>(terms.positive_class())) return;
    const std::int64_t above = curve[score_bin(row.probabilities[terms.positive_class()], curve.size())];
    to.sum(0, above);
    to.sum(1, kLossUnits - above);
  });
  return blocks;
}

Estimate estimate_auc(const std::vector<double>& positives, const std::vector<double>& negatives, double sigma,
                      double level) {
  const double least = sigma * std::sqrt(static_cast<double>(positives.size())) + 1.0;
  const double p = std::max(std::accumulate(positives.begin(), positives.end(), 0.0), least);
  const double n = std::max(std::accumulate(negatives.begin(), negatives.end(), 0.0), least);
  double below = 0.0;
  double pairs = 0.0;
  for (std::size_t bin = 0; bin < positives.size(); ++bin) {
    pairs += positives[bin] * (below + negatives[bin] / 2.0);
    below += negatives[bin];
  }
  const double area = std::clamp(pairs / (p * n), 0.0, 1.0);
  const double noise = sigma * std::sqrt(static_cast<double>(positives.size()) / 3.0) * std::hypot(1.0 / p, 1.0 / n);
  return auc_of(area, p, n, noise, level);
}

Estimate estimate_auc(const NoisedCounts& positives, const NoisedNegatives& negatives, double level) {
  const double p = std::max(positives.right + positives.wrong, 2.0 * positives.sigma + 1.0);
  const double spread = negatives.sigma * std::sqrt(static_cast<double>(negatives.bins));
  const double n = std::max(negatives.rows, spread + 1.0);
  const double area = std::clamp(positives.right / p, 0.0, 1.0);
  const double noise = std::hypot(positives.sigma * std::hypot(area, 1.0 - area) / p, spread / std::sqrt(3.0) / n);
  return auc_of(area, p, n, noise, level);
}

extern constinit const MetricEntry score_curve_entry{declare_score_curve, tell_score_curve};

}  // namespace dpreduce
