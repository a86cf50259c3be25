#include "evaluate/private_figures.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <tuple>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"

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

// r and w of pair `number` of a block of pairs.
NoisedCounts pair_of(const Numbers& block, std::size_t number) {
  return {block.values[2 * number], block.values[2 * number + 1], block.sigma};
}

std::vector<NoisedCounts> pairs_of(const Numbers& block) {
  std::vector<NoisedCounts> pairs;
  for (std::size_t pair = 0; 2 * pair < block.values.size(); ++pair) pairs.push_back(pair_of(block, pair));
  return pairs;
}

std::vector<Estimate> shares_of(const std::vector<NoisedCounts>& pairs, double level) {
  std::vector<Estimate> shares;
  for (const NoisedCounts& pair : pairs) shares.push_back(estimate_share(pair, level));
  return shares;
}

NoisedCounts sum_of_pairs(const Numbers& block) {
  const std::size_t pairs = block.values.size() / 2;
  NoisedCounts sum{0.0, 0.0, block.sigma * std::sqrt(static_cast<double>(pairs))};
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    sum.right += block.values[2 * pair];
    sum.wrong += block.values[2 * pair + 1];
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

PrivateFigures::Pair pair_of_models(const Numbers& pairs, double level) {
  const Estimate difference = estimate_difference(pairs.values, pairs.sigma, level);
  const double deviations = difference.value / std::max(difference.deviation, 1e-12);
  return {estimate_share(rows_of_model(pairs, true), level), difference,
          0.5 * std::erfc(-deviations / std::numbers::sqrt2)};
}

NoisedNegatives noised_negatives(const std::vector<double>& counts, double sigma) {
  return {std::accumulate(counts.begin(), counts.end(), 0.0), sigma, counts.size()};
}

// Shares of rows from each bin on. Of a part and its rest the noise is taken to be that of the larger number of bins.
std::vector<PrivateFigures::Threshold> curve_of(const std::vector<double>& positives,
                                                const std::vector<double>& negatives, double sigma, double level) {
  const std::size_t bins = positives.size();
  const auto share_from = [&](const std::vector<double>& counts, std::size_t bin) {
    const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(bin);
    const auto most = static_cast<double>(std::max(bin, bins - bin));
    return estimate_share({std::accumulate(middle, counts.end(), 0.0), std::accumulate(counts.begin(), middle, 0.0),
                           sigma * std::sqrt(most)},
                          level);
  };
  std::vector<PrivateFigures::Threshold> curve;
  for (std::size_t bin = 1; bin < bins; ++bin) {
    curve.push_back({lower_edge_of_bin(bin, bins), share_from(positives, bin), share_from(negatives, bin)});
  }
  return curve;
}

// By sampling, of p positives and n negatives.
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

Estimate calibration_error_of(const Numbers& table, const Numbers& gaps, double level) {
  const NoisedCounts all = sum_of_pairs(table);
  std::vector<double> bin_rows;
  std::vector<double> in_rows;
  for (std::size_t bin = 0; bin < gaps.values.size(); ++bin) {
    bin_rows.push_back(table.values[2 * bin] + table.values[2 * bin + 1]);
    in_rows.push_back(gaps.values[bin] / static_cast<double>(kLossUnits));
  }
  return estimate_calibration_error(in_rows, gaps.sigma / static_cast<double>(kLossUnits), bin_rows,
                                    std::max(all.right + all.wrong, 2.0 * all.sigma), level);
}

// How much larger |d + e| is than |d| on average, e ~ N(0, v^2).
double bias_of_absolute(double d, double v) {
  return v * std::sqrt(2.0 / std::numbers::pi) * std::exp(-0.5 * d * d / (v * v)) -
         d * std::erfc(d / (v * std::numbers::sqrt2));
}

// Sums over bins of rows' gaps and what noise and sampling do to them.
struct Gaps {
  std::vector<double> rows;        // n_b
  std::vector<double> deviations;  // v_b

  // What sum_b |d_b| is on average where each bin is off by e n_b.
  double expected(double e) const {
    double sum = 0.0;
    for (std::size_t bin = 0; bin < rows.size(); ++bin) {
      sum += e * rows[bin] + bias_of_absolute(e * rows[bin], deviations[bin]);
    }
    return sum;
  }
};

// F1 = 2 p / (1 + p), p the share of classes in both sets among those in any, which it rises with.
Estimate f1_of(const Estimate& share) {
  const auto f1 = [](double p) { return 2.0 * p / (1.0 + p); };
  const double slope = 2.0 / std::pow(1.0 + share.value, 2);
  return {f1(share.value), f1(share.low), f1(share.high), slope * share.noise, slope * share.deviation};
}

// The mean of K independent estimates v in [l, u], by the variances that each end of an interval stands for [zou2008]:
//
//     low = mean - (sqrt(sum (1 - b)^2 (v - l)^2) + sum b (v - l)) / K,   b = (u - l)^2,   and high likewise
//
// Intervals of few rows reach further to one side than to the other, and so does the mean's. The bias of a ratio of
// noised counts goes with the square of its interval's width, and biases of many classes do not cancel out: a part b of
// the distance to each end adds up as it is. So an estimate that says nothing may be anywhere in its interval.
Estimate mean_of(const std::vector<Estimate>& estimates, double level) {
  const auto count = static_cast<double>(estimates.size());
  Estimate mean{};
  double noise = 0.0;
  double squared_below = 0.0;
  double squared_above = 0.0;
  double below = 0.0;
  double above = 0.0;
  for (const Estimate& estimate : estimates) {
    const double biased = std::pow(estimate.high - estimate.low, 2);
    mean.value += estimate.value / count;
    noise += estimate.noise * estimate.noise;
    squared_below += std::pow((1.0 - biased) * (estimate.value - estimate.low), 2);
    squared_above += std::pow((1.0 - biased) * (estimate.high - estimate.value), 2);
    below += biased * (estimate.value - estimate.low);
    above += biased * (estimate.high - estimate.value);
  }
  mean.noise = std::sqrt(noise) / count;
  mean.low = std::max(mean.value - (std::sqrt(squared_below) + below) / count, 0.0);
  mean.high = std::min(mean.value + (std::sqrt(squared_above) + above) / count, 1.0);
  mean.deviation = 0.5 * (mean.high - mean.low) / two_sided_quantile(level);
  return mean;
}

nlohmann::json to_json(const Estimate& estimate, double most = 1.0) {
  nlohmann::json json{
      {"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}, {"noise", estimate.noise}};
  if (!estimate.says_nothing(most)) return json;
  json["value"] = nullptr;
  json["note"] = "too little data for this budget: the interval leaves out next to nothing";
  return json;
}

// Noised counts, and between which numbers of rows one expects among as many rows: noise, and sampling as of Poisson's.
nlohmann::json confusion_json(const PrivateFigures& figures, const EvaluationTerms& terms) {
  nlohmann::json json{{"noise", figures.confusion_noise}};
  if (!terms.class_groups.empty()) json["class_groups"] = terms.class_groups;
  const std::size_t columns = terms.confusion_groups();
  const double z = two_sided_quantile(figures.level);
  for (const auto& [name, side] : {std::pair{"counts", 0.0}, std::pair{"low", -z}, std::pair{"high", z}}) {
    nlohmann::json rows = nlohmann::json::array();
    for (std::size_t e = 0; e < figures.confusion.size(); ++e) {
      if (e % columns == 0) rows.push_back(nlohmann::json::array());
      const double count = figures.confusion[e];
      const double reach = side * std::hypot(figures.confusion_noise, std::sqrt(std::max(count, 0.0) + 1.0));
      rows.back().push_back(side == 0.0 ? count : std::max(count + reach, 0.0));
    }
    json[name] = std::move(rows);
  }
  return json;
}

nlohmann::json by_number(const std::vector<Estimate>& estimates, const char* of) {
  nlohmann::json json = nlohmann::json::array();
  for (std::size_t c = 0; c < estimates.size(); ++c) {
    json.push_back(to_json(estimates[c]));
    json.back()[of] = c;
  }
  return json;
}

}  // namespace

PrivateFigures private_figures_of_numbers(const Release& release, const EvaluationTerms& terms, double level,
                                          double rows_alike, std::span<const double> scales) {
  DPREDUCE_ASSERT(scales.size() == terms.classes);
  PrivateFigures figures{.level = level};
  std::vector<Numbers> blocks;
  for (const char* const name : {"rows", "targets", "squares", "cubes", "fourths", "errors", "error_fourths"}) {
    blocks.emplace_back(release.block(name), rows_alike);
  }
  std::vector<double> sigmas;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    sigmas.push_back(blocks[block].sigma / (block == 0 ? 1.0 : static_cast<double>(kLossUnits)));
  }
  for (std::size_t t = 0; t < terms.classes; ++t) {
    std::vector<double> sums{blocks.front().values.front()};
    for (std::size_t block = 1; block < blocks.size(); ++block) {
      sums.push_back(blocks[block].values[t] / static_cast<double>(kLossUnits));
    }
    figures.by_target.push_back(estimate_numbers(sums, sigmas, scales[t], level));
  }
  figures.largest_rmse = std::ranges::max(scales);
  figures.numbers = over_targets(figures.by_target);
  return figures;
}

PrivateFigures private_figures(const Release& release, const EvaluationTerms& terms, double level, double rows_alike) {
  const auto numbers = [&](const char* name) { return Numbers(release.block(name), rows_alike); };
  PrivateFigures figures{.level = level};
  std::optional<NoisedCounts> totals;
  if (terms.has_totals()) totals = pair_of(numbers("totals"), 0);
  if (terms.has_pair) {
    totals = rows_of_model(numbers("pairs"), false);
    figures.pair = pair_of_models(numbers("pairs"), level);
  }
  if (terms.groups > 0) {
    const std::vector<NoisedCounts> groups = pairs_of(numbers("by_group"));
    figures.by_group = shares_of(groups, level);
    if (groups.size() > 1) figures.largest_gap = estimate_largest_gap(groups, level);
  }
  if (terms.has(EvaluationMetric::kRecall)) {
    const Numbers block = numbers("by_class");
    figures.recall = shares_of(pairs_of(block), level);
    figures.balanced_accuracy = mean_of(figures.recall, level);
    if (totals) totals = together(*totals, sum_of_pairs(block));
  }
  if (terms.has(EvaluationMetric::kAccuracy) || terms.has_pair) figures.accuracy = estimate_share(*totals, level);
  if (terms.has(EvaluationMetric::kPrecision)) figures.precision = shares_of(pairs_of(numbers("by_prediction")), level);
  if (terms.has(EvaluationMetric::kConfusion)) {
    const ReleasedBlock& block = release.block("confusion");
    figures.confusion.assign(block.values().begin(), block.values().end());
    figures.confusion_noise = block.sigma();
  }
  if (terms.has(EvaluationMetric::kTopK)) figures.top_k = estimate_share(pair_of(numbers("top_k"), 0), level);
  if (terms.has(EvaluationMetric::kCalibration)) {
    const std::vector<Estimate> shares = shares_of(pairs_of(numbers("calibration")), level);
    const auto bins = static_cast<double>(shares.size());
    for (std::size_t bin = 0; bin < shares.size(); ++bin) {
      const auto place = static_cast<double>(bin);
      figures.calibration.push_back({place / bins, (place + 1.0) / bins, shares[bin]});
    }
    figures.calibration_error = calibration_error_of(numbers("calibration"), numbers("calibration_gaps"), level);
  }
  if (terms.has(EvaluationMetric::kRoc)) {
    const Numbers block = numbers("scores");
    std::vector<double> counts[2];
    for (std::size_t e = 0; e < block.values.size(); ++e) counts[e % 2].push_back(block.values[e]);
    figures.roc = curve_of(counts[0], counts[1], block.sigma, level);
    figures.area_of_roc = estimate_auc(counts[0], counts[1], block.sigma, level);
    figures.negatives = noised_negatives(counts[1], block.sigma);
  } else if (terms.has(EvaluationMetric::kAuc)) {
    const Numbers block = numbers("negatives");
    figures.negatives = noised_negatives(block.values, block.sigma);
  }
  if (terms.has(EvaluationMetric::kF1)) {
    for (const NoisedCounts& counts : pairs_of(numbers("sets_by_class"))) {
      figures.f1.push_back(f1_of(estimate_share(counts, level)));
    }
    // The classes of one row are right or wrong together.
    const auto alike = static_cast<double>(terms.most_labels + terms.most_predicted);
    figures.micro_f1 = f1_of(estimate_share(pair_of(Numbers(release.block("sets"), rows_alike * alike), 0), level));
  }
  const auto mean_loss = [&](const char* name, double most) {
    const Numbers block = numbers(name);
    const double unit = static_cast<double>(kLossUnits) / most;
    return estimate_mean(block.values.front() / unit, block.sigma / unit, totals->right + totals->wrong,
                         std::sqrt(2.0) * totals->sigma, most, level);
  };
  if (terms.has(EvaluationMetric::kLogLoss)) figures.log_loss = mean_loss("log_loss", largest_log_loss(terms.classes));
  if (terms.has(EvaluationMetric::kBrier)) figures.brier = mean_loss("brier", kLargestBrier);
  return figures;
}

Estimate estimate_largest_gap(const std::vector<NoisedCounts>& counts, double level) {
  DPREDUCE_ASSERT(counts.size() > 1);
  const std::vector<Estimate> shares = shares_of(counts, std::pow(level, 1.0 / static_cast<double>(counts.size())));
  const auto [least, most] = std::ranges::minmax_element(shares, {}, &Estimate::value);
  const double low =
      std::ranges::max(shares, {}, &Estimate::low).low - std::ranges::min(shares, {}, &Estimate::high).high;
  const double high =
      std::ranges::max(shares, {}, &Estimate::high).high - std::ranges::min(shares, {}, &Estimate::low).low;
  return {most->value - least->value, std::max(low, 0.0), high, std::hypot(most->noise, least->noise),
          std::hypot(most->deviation, least->deviation)};
}

Estimate estimate_difference(const std::vector<double>& counts, double sigma, double level) {
  DPREDUCE_ASSERT(counts.size() == 4);
  const double about = std::max({std::accumulate(counts.begin(), counts.end(), 0.0), 2.0 * sigma, 1.0});
  const double difference = std::clamp((counts[1] - counts[2]) / about, -1.0, 1.0);
  const double differing = std::clamp((counts[1] + counts[2] + 1.0) / about, difference * difference, 1.0);
  const double noise = sigma * std::sqrt(2.0 + 4.0 * difference * difference) / about;
  const double deviation = std::hypot(noise, std::sqrt((differing - difference * difference) / about));
  const double reach = two_sided_quantile(level) * deviation;
  return {difference, std::max(difference - reach, -1.0), std::min(difference + reach, 1.0), noise, deviation};
}

Estimate estimate_calibration_error(const std::vector<double>& gaps, double sigma, const std::vector<double>& bin_rows,
                                    double rows, double level) {
  DPREDUCE_ASSERT(gaps.size() == bin_rows.size());
  Gaps of_bins;
  double raw = 0.0;
  double low = 0.0;
  double high = 0.0;
  double variance = 0.0;
  for (std::size_t bin = 0; bin < gaps.size(); ++bin) {
    const double d = std::abs(gaps[bin]);
    const double p = (static_cast<double>(bin) + 0.5) / static_cast<double>(gaps.size());
    of_bins.rows.push_back(std::max(bin_rows[bin], 0.0));
    const double v = std::max(std::hypot(sigma, std::sqrt(of_bins.rows.back() * p * (1.0 - p))), 1e-9);
    of_bins.deviations.push_back(v);
    raw += d;
    low += std::max(d - bias_of_absolute(0.0, v), 0.0);
    high += d - std::max(bias_of_absolute(d, v), 0.0);
    variance += v * v;
  }
  double value = 0.0;
  double most = 1.0;
  constexpr int kHalvings = 40;
  for (int step = 0; step < kHalvings; ++step) {
    const double e = 0.5 * (value + most);
    (of_bins.expected(e) < raw ? value : most) = e;
  }
  const double about = std::max(rows, 1.0);
  const double reach = two_sided_quantile(level) * std::sqrt(variance) / about;
  const double lower = std::clamp(low / about - reach, 0.0, 1.0);
  const double upper = std::clamp(high / about + reach, 0.0, 1.0);
  return {std::clamp(value, lower, upper), lower, upper, sigma * std::sqrt(static_cast<double>(gaps.size())) / about,
          std::sqrt(variance) / about};
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

void add_positives(PrivateFigures& figures, const Release& release, double rows_alike) {
  DPREDUCE_ASSERT(figures.negatives.has_value());
  NoisedCounts sums = pair_of(Numbers(release.block("above_negatives"), rows_alike), 0);
  for (double* number : {&sums.right, &sums.wrong, &sums.sigma}) *number /= static_cast<double>(kLossUnits);
  figures.auc = estimate_auc(sums, *figures.negatives, figures.level);
}

namespace {

nlohmann::json numbers_json(const PrivateFigures& figures, const EvaluationTerms& terms) {
  nlohmann::json json = nlohmann::json::object();
  if (terms.has(EvaluationMetric::kR2)) json["r2"] = to_json(figures.numbers->r2);
  if (terms.has(EvaluationMetric::kRmse)) {
    json["rmse"] = to_json(figures.numbers->rmse, figures.largest_rmse);
  }
  if (figures.by_target.size() > 1) {
    for (const auto& [metric, name, figure] :
         {std::tuple{EvaluationMetric::kR2, "r2_by_target", &NumberFigures::r2},
          std::tuple{EvaluationMetric::kRmse, "rmse_by_target", &NumberFigures::rmse}}) {
      if (!terms.has(metric)) continue;
      std::vector<Estimate> estimates;
      for (const NumberFigures& of_one : figures.by_target) estimates.push_back(of_one.*figure);
      json[name] = by_number(estimates, "target");
    }
  }
  return json;
}

}  // namespace

nlohmann::json to_json(const PrivateFigures& figures, const EvaluationTerms& terms) {
  nlohmann::json json = nlohmann::json::object();
  if (figures.numbers) json = numbers_json(figures, terms);
  if (figures.accuracy) json["accuracy"] = to_json(*figures.accuracy);
  if (figures.pair) {
    json["accuracy_b"] = to_json(figures.pair->accuracy_of_second);
    json["difference"] = to_json(figures.pair->difference, 2.0);
    json["difference"]["b_is_better"] = figures.pair->second_is_better;
  }
  if (figures.balanced_accuracy) json["balanced_accuracy"] = to_json(*figures.balanced_accuracy);
  if (!figures.by_group.empty()) json["by_group"] = by_number(figures.by_group, "group");
  if (figures.largest_gap) json["largest_gap"] = to_json(*figures.largest_gap);
  if (!figures.recall.empty()) json["recall"] = by_number(figures.recall, "class");
  if (!figures.precision.empty()) json["precision"] = by_number(figures.precision, "class");
  if (!figures.confusion.empty()) {
    json["confusion"] = confusion_json(figures, terms);
  }
  if (figures.top_k) {
    json["top_k"] = to_json(*figures.top_k);
    json["top_k"]["k"] = terms.top_k;
  }
  if (figures.micro_f1) {
    json["micro_f1"] = to_json(*figures.micro_f1);
    json["f1"] = by_number(figures.f1, "class");
  }
  if (figures.auc) json["auc"] = to_json(*figures.auc);
  if (figures.area_of_roc) {
    nlohmann::json points = nlohmann::json::array();
    for (const PrivateFigures::Threshold& point : figures.roc) {
      points.push_back({{"threshold", point.from},
                        {"true_positive_rate", to_json(point.true_positives)},
                        {"false_positive_rate", to_json(point.false_positives)}});
    }
    json["roc"] = {{"points", std::move(points)}, {"auc", to_json(*figures.area_of_roc)}};
  }
  if (figures.log_loss) {
    const double most = largest_log_loss(terms.classes);
    json["log_loss"] = to_json(*figures.log_loss, most);
    json["log_loss"]["largest"] = most;
  }
  if (figures.brier) json["brier"] = to_json(*figures.brier, kLargestBrier);
  if (!figures.calibration.empty()) {
    nlohmann::json bins = nlohmann::json::array();
    for (const PrivateFigures::Bin& bin : figures.calibration) {
      bins.push_back(to_json(bin.share));
      bins.back().update({{"from", bin.from}, {"to", bin.to}});
    }
    json["calibration"] = std::move(bins);
    json["calibration_error"] = to_json(*figures.calibration_error, 0.5);
  }
  return json;
}

}  // namespace dpreduce
