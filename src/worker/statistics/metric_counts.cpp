#include "worker/statistics/metric_counts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/error.hpp"
#include "common/plan/empty_statistic.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace {

std::size_t bin_of(double probability, std::size_t bins) {
  if (!(probability > 0.0)) return 0;
  const auto bin = static_cast<std::size_t>(probability * static_cast<double>(bins));
  return std::min(bin, bins - 1);
}

constexpr double kFarthestLogOdds = 8.0;
// Of numbers, the sums that tell how much targets and errors vary: where predictions are good, errors matter more.
constexpr double kWeightOfSpread = 0.1;
constexpr double kWeightOfVariation = 0.02;

// floor(2^15 min(loss, most) / most), also of a loss that is no number.
std::int64_t loss_units(double loss, double most) {
  const double part = loss < most ? std::max(loss, 0.0) / most : 1.0;
  return static_cast<std::int64_t>(std::floor(static_cast<double>(kLossUnits) * part));
}

// Of equal scores that of the smaller class is the larger one, as in predictions.
bool is_among_largest(const ScoredRow& row, std::size_t top_k) {
  if (row.label < 0) return false;
  const auto y = static_cast<std::size_t>(row.label);
  std::size_t before = 0;
  for (std::size_t c = 0; c < row.scores.size(); ++c) {
    before += row.scores[c] > row.scores[y] || (row.scores[c] == row.scores[y] && c < y) ? 1 : 0;
  }
  return before < top_k;
}

// A class that is not listed has probability 0.
double brier_of(std::span<const double> probabilities, std::size_t label) {
  double sum = label < probabilities.size() ? 0.0 : 1.0;
  for (std::size_t c = 0; c < probabilities.size(); ++c) {
    sum += std::pow(probabilities[c] - (c == label ? 1.0 : 0.0), 2);
  }
  return sum;
}

}  // namespace

double largest_log_loss(std::size_t classes) {
  return std::log(10.0 * static_cast<double>(classes));
}

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

ReleaseRequest positives_request(const ReleaseTerms& terms, double share) {
  constexpr auto kSquaredUnits = static_cast<std::uint64_t>(kLossUnits) * kLossUnits;
  const bool is_exchange = terms.adjacency == Adjacency::kReplaceOne;
  return {
      .name = "positives",
      .share = share,
      .blocks = {{"above_negatives", 2, 1.0 / static_cast<double>(kSquaredUnits)}},
      .profiles = {{is_exchange ? "another row" : "one row more or less", {(is_exchange ? 2 : 1) * kSquaredUnits}}}};
}

namespace {

ReleaseRequest request_of_numbers(const ReleaseTerms& of_rows, double share) {
  constexpr auto kSquaredUnits = static_cast<std::uint64_t>(kLossUnits) * kLossUnits;
  const std::size_t count = of_rows.evaluation.classes;
  const bool is_exchange = of_rows.adjacency == Adjacency::kReplaceOne;
  ReleaseRequest request{.name = "evaluation",
                         .share = share,
                         .blocks = {{.name = "rows",
                                     .elements = 1,
                                     .loss_weight = kWeightOfSpread,
                                     .fraction_bits = of_rows.count_bits()}},
                         .profiles = {{is_exchange ? "another row" : "one row more or less", {1}}}};
  const auto sums = [&](const char* name, double weight, std::uint64_t exchanged) {
    request.blocks.push_back({name, count, weight * static_cast<double>(count) / static_cast<double>(kSquaredUnits)});
    request.profiles.front().squared_l2.push_back((is_exchange ? exchanged : 1) * kSquaredUnits);
  };
  sums("targets", kWeightOfSpread, 4);
  sums("squares", kWeightOfSpread, 2);
  sums("cubes", kWeightOfVariation, 4);
  sums("fourths", kWeightOfVariation, 2);
  sums("errors", 1.0, 2);
  sums("error_fourths", kWeightOfVariation, 2);
  return request;
}

}  // namespace

ReleaseRequest evaluation_request(const ReleaseTerms& of_rows, double share) {
  const EvaluationTerms& terms = of_rows.evaluation;
  if (terms.has_targets) return request_of_numbers(of_rows, share);
  ReleaseRequest request{.name = "evaluation", .share = share, .blocks = {}, .profiles = {}};
  const bool is_exchange = of_rows.adjacency == Adjacency::kReplaceOne;
  SensitivityProfile profile{is_exchange ? "another row" : "one row more or less", {}};
  const auto counts = [&](const char* name, std::size_t elements) {
    request.blocks.push_back({.name = name,
                              .elements = elements,
                              .loss_weight = static_cast<double>(elements) / 2.0,
                              .fraction_bits = of_rows.count_bits()});
    profile.squared_l2.push_back(is_exchange ? 2 : 1);
  };
  const auto loss = [&](const char* name, std::size_t bins = 1) {
    constexpr auto kSquaredUnits = static_cast<std::uint64_t>(kLossUnits) * kLossUnits;
    request.blocks.push_back({name, bins, static_cast<double>(bins) / static_cast<double>(kSquaredUnits)});
    profile.squared_l2.push_back((is_exchange && bins > 1 ? 2 : 1) * kSquaredUnits);
  };
  if (terms.has_totals()) counts("totals", 2);
  if (terms.has_pair) counts("pairs", 4);
  if (terms.groups > 0) counts("by_group", 2 * terms.groups);
  if (terms.has(EvaluationMetric::kRecall)) counts("by_class", 2 * terms.classes);
  if (terms.has(EvaluationMetric::kPrecision)) counts("by_prediction", 2 * terms.classes);
  if (terms.has(EvaluationMetric::kConfusion)) {
    counts("confusion", terms.confusion_groups() * terms.confusion_groups());
  }
  if (terms.has(EvaluationMetric::kTopK)) counts("top_k", 2);
  if (terms.has(EvaluationMetric::kCalibration)) {
    counts("calibration", 2 * kCalibrationBins);
    loss("calibration_gaps", kCalibrationBins);
  }
  if (terms.has(EvaluationMetric::kRoc)) {
    counts("scores", 2 * terms.score_bins);
  } else if (terms.has(EvaluationMetric::kAuc)) {
    counts("negatives", terms.score_bins);
    request.blocks.back().loss_weight = 1.0 / 9.0;  // a quarter beside positives: this noise is divided by many rows
  }
  if (terms.has(EvaluationMetric::kLogLoss)) loss("log_loss");
  if (terms.has(EvaluationMetric::kBrier)) loss("brier");
  if (terms.has(EvaluationMetric::kF1)) {
    const std::uint64_t most = terms.most_labels + terms.most_predicted;
    const std::uint64_t both = std::min(terms.most_labels, terms.most_predicted);
    counts("sets", 2);
    request.blocks.back().loss_weight = 1.0 / static_cast<double>(most * most);
    profile.squared_l2.back() = most * most + (is_exchange ? both * both : 0);
    counts("sets_by_class", 2 * terms.classes);
    profile.squared_l2.back() *= std::min<std::uint64_t>(most, terms.classes);
  }
  DPREDUCE_ASSERT(!request.blocks.empty());
  request.profiles.push_back(std::move(profile));
  return request;
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

MetricCounts::MetricCounts(const EvaluationTerms& terms, const ReleaseRequest& request, std::span<const double> curve)
    : terms_(terms), statistic_(empty_statistic(request)) {
  for (const double share : curve) {
    if (!(share >= 0.0 && share <= 1.0)) throw AggregationAborted("the coordinator's curve is out of range");
    curve_.push_back(static_cast<std::int64_t>(std::floor(share * kLossUnits)));
  }
}

void MetricCounts::add_positive(const ScoredRow& row) {
  DPREDUCE_ASSERT(curve_.size() == terms_.score_bins);
  if (static_cast<std::size_t>(row.label) != terms_.positive_class()) return;
  const std::int64_t above = curve_[score_bin(row.probabilities[terms_.positive_class()], curve_.size())];
  const std::span<std::int64_t> sums = statistic_.block(0);
  sums[0] += weighed(above, row.weight);
  sums[1] += weighed(kLossUnits - above, row.weight);
}

void MetricCounts::add_set(const ScoredRow& row) {
  DPREDUCE_ASSERT(row.labels.size() <= terms_.most_labels && row.predicted_labels.size() <= terms_.most_predicted);
  const std::size_t all = statistic_.index_of("sets");
  const std::size_t by_class = statistic_.index_of("sets_by_class");
  const std::int64_t unit = statistic_.shape()[all].fraction_bits == 0 ? 1 : std::int64_t{row.weight};
  const auto count = [&](std::int32_t c, std::size_t wrong) {
    statistic_.block(all)[wrong] += unit;
    statistic_.block(by_class)[2 * static_cast<std::size_t>(c) + wrong] += unit;
  };
  for (const std::int32_t c : row.labels) count(c, std::ranges::binary_search(row.predicted_labels, c) ? 0 : 1);
  for (const std::int32_t c : row.predicted_labels) {
    if (!std::ranges::binary_search(row.labels, c)) count(c, 1);
  }
}

void MetricCounts::add_to(const char* name, std::size_t cell, RowWeight weight) {
  const std::size_t block = statistic_.index_of(name);
  statistic_.block(block)[cell] += statistic_.shape()[block].fraction_bits == 0 ? 1 : std::int64_t{weight};
}

void MetricCounts::add(const PredictedRow& row) {
  DPREDUCE_ASSERT(terms_.has_targets && row.targets.size() == terms_.classes && row.errors.size() == terms_.classes);
  add_to("rows", 0, row.weight);
  const auto put = [&](const char* name, std::size_t t, double value) {
    const auto units = static_cast<std::int64_t>(std::floor(std::abs(value) * kLossUnits));
    const std::int64_t counted = weighed(units, row.weight);
    statistic_.block(statistic_.index_of(name))[t] += value < 0.0 ? -counted : counted;
  };
  for (std::size_t t = 0; t < terms_.classes; ++t) {
    const double y = row.targets[t];
    const double squared_error = row.errors[t] * row.errors[t];
    put("targets", t, y);
    put("squares", t, y * y);
    put("cubes", t, y * y * y);
    put("fourths", t, y * y * y * y);
    put("errors", t, squared_error);
    put("error_fourths", t, squared_error * squared_error);
  }
}

void MetricCounts::add(const ScoredRow& row) {
  if (terms_.most_labels > 0) return add_set(row);
  const bool is_listed = row.label >= 0;
  const auto y = static_cast<std::size_t>(row.label);
  const auto p = static_cast<std::size_t>(row.predicted);
  DPREDUCE_ASSERT((!is_listed || y < terms_.classes) && p < terms_.classes);
  if (!curve_.empty()) return add_positive(row);
  const std::size_t wrong = row.predicted == row.label ? 0 : 1;
  const auto count = [&](const char* name, std::size_t cell) { add_to(name, cell, row.weight); };
  if (terms_.has_totals()) count("totals", wrong);
  if (terms_.has_pair) count("pairs", wrong + (row.predicted_by_second == row.label ? 0 : 2));
  if (terms_.groups > 0 && row.group >= 0) count("by_group", 2 * static_cast<std::size_t>(row.group) + wrong);
  if (terms_.has(EvaluationMetric::kRecall) && is_listed) count("by_class", 2 * y + wrong);
  if (terms_.has(EvaluationMetric::kPrecision)) count("by_prediction", 2 * p + wrong);
  if (terms_.has(EvaluationMetric::kConfusion) && is_listed) {
    count("confusion", terms_.confusion_group(y) * terms_.confusion_groups() + terms_.confusion_group(p));
  }
  if (terms_.has(EvaluationMetric::kTopK)) count("top_k", is_among_largest(row, terms_.top_k) ? 0 : 1);
  if (terms_.needs_probabilities()) add_probabilities(row);
}

void MetricCounts::add_probabilities(const ScoredRow& row) {
  const std::size_t y = row.label < 0 ? terms_.classes : static_cast<std::size_t>(row.label);
  const auto p = static_cast<std::size_t>(row.predicted);
  const std::size_t wrong = p == y ? 0 : 1;
  const std::span<const double> probabilities = row.probabilities;
  DPREDUCE_ASSERT(probabilities.size() == terms_.classes);
  if (terms_.has(EvaluationMetric::kCalibration)) {
    const double q = std::max(0.0, probabilities[p]);  // where that is no number 0: such rows' gaps are of one sign
    const std::size_t bin = bin_of(q, kCalibrationBins);
    add_to("calibration", 2 * bin + wrong, row.weight);
    const std::int64_t units = weighed(loss_units(wrong == 0 ? 1.0 - q : q, 1.0), row.weight);
    statistic_.block(statistic_.index_of("calibration_gaps"))[bin] += wrong == 0 ? units : -units;
  }
  if (terms_.is_about_one_class()) {
    const std::size_t bin = score_bin(probabilities[terms_.positive_class()], terms_.score_bins);
    const bool is_positive = y == terms_.positive_class();
    if (terms_.has(EvaluationMetric::kRoc)) {
      add_to("scores", 2 * bin + (is_positive ? 0 : 1), row.weight);
    } else if (!is_positive) {
      add_to("negatives", bin, row.weight);
    }
  }
  const auto loss = [&](const char* name, double of_row, double most) {
    statistic_.block(statistic_.index_of(name)).front() += weighed(loss_units(of_row, most), row.weight);
  };
  if (terms_.has(EvaluationMetric::kLogLoss)) {
    loss("log_loss", -std::log(y < probabilities.size() ? probabilities[y] : 0.0), largest_log_loss(terms_.classes));
  }
  if (terms_.has(EvaluationMetric::kBrier)) loss("brier", brier_of(probabilities, y), kLargestBrier);
}

}  // namespace dpreduce
