#include "evaluate/private_figures.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "evaluate/estimates.hpp"
#include "worker/statistics/evaluation.hpp"

namespace dpreduce {
namespace {

// The numbers of a block, in units of rows that may be taken to be independent.
struct Numbers {
  Numbers(const ReleasedBlock& block, double rows_alike) : sigma(block.sigma() / rows_alike) {
    for (const std::int64_t value : block.values()) values.push_back(static_cast<double>(value) / rows_alike);
  }
  std::vector<double> values;
  double sigma;
};

// Inputs that figures are computed from.
struct ReportedFrom {
  const std::vector<Release>& releases;
  const EvaluationTerms& terms;
  double level;
  double rows_alike;

  bool has(EvaluationMetric metric) const { return terms.has(metric); }
  Numbers numbers(const char* block) const { return {releases.front().block(block), rows_alike}; }
};

// r and w of a block with one pair, or those of all its pairs.
std::vector<NoisedCounts> pairs_of(const Numbers& block) {
  std::vector<NoisedCounts> pairs;
  for (std::size_t e = 0; e + 1 < block.values.size(); e += 2) {
    pairs.push_back({block.values[e], block.values[e + 1], block.sigma});
  }
  return pairs;
}

NoisedCounts sum_of_pairs(const Numbers& block) {
  const std::size_t pairs = block.values.size() / 2;
  NoisedCounts sum{0.0, 0.0, block.sigma * std::sqrt(static_cast<double>(pairs))};
  for (const NoisedCounts& pair : pairs_of(block)) {
    sum.right += pair.right;
    sum.wrong += pair.wrong;
  }
  return sum;
}

// Two noised versions of the same counts as one, weighted by their precision.
NoisedCounts together(const NoisedCounts& a, const NoisedCounts& b) {
  const double of_a = b.sigma * b.sigma / (a.sigma * a.sigma + b.sigma * b.sigma);
  return {of_a * a.right + (1.0 - of_a) * b.right, of_a * a.wrong + (1.0 - of_a) * b.wrong,
          a.sigma * b.sigma / std::hypot(a.sigma, b.sigma)};
}

// Right and wrong rows of the first or the second of two models.
NoisedCounts rows_of_model(const Numbers& pairs, bool is_second) {
  const std::vector<double>& n = pairs.values;  // both, second only, first only, none
  return {n[0] + n[is_second ? 1 : 2], n[is_second ? 2 : 1] + n[3], std::numbers::sqrt2 * pairs.sigma};
}

// Right and wrong rows of the first model, where they are counted: by all blocks that count them.
std::optional<NoisedCounts> totals_of(const ReportedFrom& from) {
  std::optional<NoisedCounts> totals;
  if (from.terms.has_totals()) totals = pairs_of(from.numbers("totals")).front();
  if (from.terms.has_pair) totals = rows_of_model(from.numbers("pairs"), false);
  if (totals && from.has(EvaluationMetric::kRecall)) totals = together(*totals, sum_of_pairs(from.numbers("by_class")));
  return totals;
}

nlohmann::json figure_json(const Estimate& estimate, double most = 1.0,
                           const nlohmann::json& more = nlohmann::json::object()) {
  nlohmann::json json{
      {"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}, {"noise", estimate.noise}};
  json.update(more);
  if (!estimate.is_uninformative(most)) return json;
  json["value"] = nullptr;
  json["note"] = "too little data for this budget: the interval excludes almost nothing";
  return json;
}

nlohmann::json by_number(const std::vector<Estimate>& estimates, const char* of) {
  nlohmann::json json = nlohmann::json::array();
  for (const Estimate& estimate : estimates) json.push_back(figure_json(estimate, 1.0, {{of, json.size()}}));
  return json;
}

// Noised counts, and between which numbers of rows one expects among as many rows: noise, and sampling as of Poisson's.
nlohmann::json confusion_json(const ReleasedBlock& block, const EvaluationTerms& terms, double level) {
  nlohmann::json json{{"noise", block.sigma()}};
  if (!terms.class_groups.empty()) json["class_groups"] = terms.class_groups;
  const std::size_t columns = terms.confusion_groups();
  const double z = two_sided_quantile(level);
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

// Adds metrics of which class has the largest score.
void report_classes(const ReportedFrom& from, const std::optional<NoisedCounts>& totals, nlohmann::json& told) {
  const EvaluationTerms& terms = from.terms;
  if (from.has(EvaluationMetric::kAccuracy) || terms.has_pair) {
    told["accuracy"] = figure_json(estimate_share(*totals, from.level));
  }
  if (terms.has_pair) {
    const Numbers pairs = from.numbers("pairs");
    const Estimate difference = estimate_difference(pairs.values, pairs.sigma, from.level);
    const double deviations = difference.value / std::max(difference.deviation, 1e-12);
    told["accuracy_b"] = figure_json(estimate_share(rows_of_model(pairs, true), from.level));
    told["difference"] =
        figure_json(difference, 2.0, {{"b_is_better", 0.5 * std::erfc(-deviations / std::numbers::sqrt2)}});
  }
  if (terms.groups > 0) {
    const std::vector<NoisedCounts> groups = pairs_of(from.numbers("by_group"));
    told["by_group"] = by_number(shares_of(groups, from.level), "group");
    if (groups.size() > 1) told["largest_gap"] = figure_json(estimate_largest_gap(groups, from.level));
  }
  if (from.has(EvaluationMetric::kRecall)) {
    const std::vector<Estimate> recall = shares_of(pairs_of(from.numbers("by_class")), from.level);
    told["recall"] = by_number(recall, "class");
    told["balanced_accuracy"] = figure_json(mean_of(recall, from.level));
  }
  if (from.has(EvaluationMetric::kPrecision)) {
    told["precision"] = by_number(shares_of(pairs_of(from.numbers("by_prediction")), from.level), "class");
  }
  if (from.has(EvaluationMetric::kConfusion)) {
    told["confusion"] = confusion_json(from.releases.front().block("confusion"), terms, from.level);
  }
  if (from.has(EvaluationMetric::kTopK)) {
    const NoisedCounts found = pairs_of(from.numbers("top_k")).front();
    told["top_k"] = figure_json(estimate_share(found, from.level), 1.0, {{"k", terms.top_k}});
  }
}

void report_calibration(const ReportedFrom& from, nlohmann::json& told) {
  const Numbers table = from.numbers("calibration");
  const Numbers gaps = from.numbers("calibration_gaps");
  const auto bins = static_cast<double>(gaps.values.size());
  std::vector<double> bin_rows;
  std::vector<double> in_rows;
  for (const NoisedCounts& bin : pairs_of(table)) {
    const auto place = static_cast<double>(bin_rows.size());
    told["calibration"].push_back(
        figure_json(estimate_share(bin, from.level), 1.0, {{"from", place / bins}, {"to", (place + 1.0) / bins}}));
    in_rows.push_back(gaps.values[bin_rows.size()] / static_cast<double>(kLossUnits));
    bin_rows.push_back(bin.right + bin.wrong);
  }
  const NoisedCounts all = sum_of_pairs(table);
  told["calibration_error"] =
      figure_json(estimate_calibration_error(in_rows, gaps.sigma / static_cast<double>(kLossUnits), bin_rows,
                                             std::max(all.right + all.wrong, 2.0 * all.sigma), from.level),
                  0.5);
}

// Shares of rows from each bin on. Of a part and its rest the noise is taken to be that of the larger number of bins.
nlohmann::json points_of_roc(const std::vector<double>& positives, const std::vector<double>& negatives, double sigma,
                             double level) {
  const std::size_t bins = positives.size();
  const auto share_from = [&](const std::vector<double>& counts, std::size_t bin) {
    const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(bin);
    const auto most = static_cast<double>(std::max(bin, bins - bin));
    return figure_json(estimate_share({std::accumulate(middle, counts.end(), 0.0),
                                       std::accumulate(counts.begin(), middle, 0.0), sigma * std::sqrt(most)},
                                      level));
  };
  nlohmann::json points = nlohmann::json::array();
  for (std::size_t bin = 1; bin < bins; ++bin) {
    points.push_back({{"threshold", lower_edge_of_bin(bin, bins)},
                      {"true_positive_rate", share_from(positives, bin)},
                      {"false_positive_rate", share_from(negatives, bin)}});
  }
  return points;
}

// Adds the largest F1 of the class, 2 TP / (TP + FP + P), over thresholds that predict more rows than twice the noise
// of their number, and where it is: from probability p on, and, where classes can be weighed, with the weight w of the
// class, p w = 1 - p. The choice is by counts as released, so it costs nothing.
void report_best_f1(const std::vector<double>& positives, const std::vector<double>& negatives, double sigma,
                    const ReportedFrom& from, nlohmann::json& told) {
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
void report_curve(const ReportedFrom& from, nlohmann::json& told) {
  const bool has_scores = from.has(EvaluationMetric::kRoc);
  const Numbers block = from.numbers(has_scores ? "scores" : "negatives");
  std::vector<double> positives;
  std::vector<double> negatives;
  for (std::size_t e = 0; e < block.values.size(); ++e) {
    (has_scores && e % 2 == 0 ? positives : negatives).push_back(block.values[e]);
  }
  if (has_scores) {
    told["roc"] = {{"points", points_of_roc(positives, negatives, block.sigma, from.level)},
                   {"auc", figure_json(estimate_auc(positives, negatives, block.sigma, from.level))}};
    if (from.terms.classes == 2) report_best_f1(positives, negatives, block.sigma, from, told);
  }
  if (!from.has(EvaluationMetric::kAuc)) return;
  DPREDUCE_ASSERT(from.releases.size() == 2);
  NoisedCounts sums = pairs_of(Numbers(from.releases.back().block("above_negatives"), from.rows_alike)).front();
  for (double* number : {&sums.right, &sums.wrong, &sums.sigma}) *number /= static_cast<double>(kLossUnits);
  const NoisedNegatives all{std::accumulate(negatives.begin(), negatives.end(), 0.0), block.sigma, negatives.size()};
  told["auc"] = figure_json(estimate_auc(sums, all, from.level));
}

void report_sets(const ReportedFrom& from, nlohmann::json& told) {
  std::vector<Estimate> f1;
  for (const Estimate& share : shares_of(pairs_of(from.numbers("sets_by_class")), from.level)) {
    f1.push_back(f1_of(share));
  }
  told["f1"] = by_number(f1, "class");
  // The classes of one row are right or wrong together.
  const auto alike = static_cast<double>(from.terms.most_labels + from.terms.most_predicted);
  const Numbers sets(from.releases.front().block("sets"), from.rows_alike * alike);
  told["micro_f1"] = figure_json(f1_of(estimate_share(pairs_of(sets).front(), from.level)));
}

void report_numbers(const ReportedFrom& from, std::span<const double> scales, nlohmann::json& told) {
  DPREDUCE_ASSERT(scales.size() == from.terms.classes);
  std::vector<Numbers> blocks;
  std::vector<double> sigmas;
  for (const char* const name : {"rows", "targets", "squares", "cubes", "fourths", "errors", "error_fourths"}) {
    blocks.push_back(from.numbers(name));
    sigmas.push_back(blocks.back().sigma / (sigmas.empty() ? 1.0 : static_cast<double>(kLossUnits)));
  }
  std::vector<NumberFigures> by_target;
  for (std::size_t t = 0; t < scales.size(); ++t) {
    std::vector<double> sums{blocks.front().values.front()};
    for (std::size_t block = 1; block < blocks.size(); ++block) {
      sums.push_back(blocks[block].values[t] / static_cast<double>(kLossUnits));
    }
    by_target.push_back(estimate_numbers(sums, sigmas, scales[t], from.level));
  }
  const NumberFigures all = over_targets(by_target);
  const auto tell = [&](const std::string& name, Estimate NumberFigures::*figure, double most) {
    told[name] = figure_json(all.*figure, most);
    std::vector<Estimate> each;
    for (const NumberFigures& of_one : by_target) each.push_back(of_one.*figure);
    if (each.size() > 1) told[name + "_by_target"] = by_number(each, "target");
  };
  if (from.has(EvaluationMetric::kR2)) tell("r2", &NumberFigures::r2, 1.0);
  if (from.has(EvaluationMetric::kRmse)) tell("rmse", &NumberFigures::rmse, std::ranges::max(scales));
}

}  // namespace

nlohmann::json private_figures(const std::vector<Release>& releases, const EvaluationTerms& terms, double level,
                               double rows_alike, std::span<const double> scales) {
  const ReportedFrom from{releases, terms, level, rows_alike};
  nlohmann::json told = nlohmann::json::object();
  if (terms.has_targets) {
    report_numbers(from, scales, told);
    return told;
  }
  const std::optional<NoisedCounts> totals = totals_of(from);
  report_classes(from, totals, told);
  if (terms.has(EvaluationMetric::kCalibration)) report_calibration(from, told);
  if (terms.is_about_one_class()) report_curve(from, told);
  if (terms.has(EvaluationMetric::kF1)) report_sets(from, told);
  const auto report_loss = [&](const char* name, double most, const nlohmann::json& more) {
    const Numbers block = from.numbers(name);
    const double unit = static_cast<double>(kLossUnits) / most;
    told[name] = figure_json(estimate_mean(block.values.front() / unit, block.sigma / unit,
                                           totals->right + totals->wrong, std::sqrt(2.0) * totals->sigma, most, level),
                             most, more);
  };
  const double most = largest_log_loss(terms.classes);
  if (terms.has(EvaluationMetric::kLogLoss)) report_loss("log_loss", most, {{"largest", most}});
  if (terms.has(EvaluationMetric::kBrier)) report_loss("brier", kLargestBrier, nlohmann::json::object());
  return told;
}

}  // namespace dpreduce
