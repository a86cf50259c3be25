#include "evaluate/metric_counts.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/plan/empty_statistic.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostClassesOfConfusion = 1000;

std::size_t bin_of(double probability, std::size_t bins) {
  const auto bin = static_cast<std::size_t>(probability * static_cast<double>(bins));
  return std::min(bin, bins - 1);
}

// floor(2^15 min(loss, most) / most), also of a loss that is no number.
std::int64_t loss_units(double loss, double most) {
  const double part = loss < most ? std::max(loss, 0.0) / most : 1.0;
  return static_cast<std::int64_t>(std::floor(static_cast<double>(kLossUnits) * part));
}

}  // namespace

double largest_log_loss(std::size_t classes) {
  return std::log(10.0 * static_cast<double>(classes));
}

std::set<EvaluationMetric> metrics_of(std::string_view words) {
  std::set<EvaluationMetric> metrics;
  while (!words.empty()) {
    const std::size_t comma = std::min(words.find(','), words.size());
    const std::string_view word = words.substr(0, comma);
    const auto metric = choice_of<EvaluationMetric>(word);
    if (!metric) {
      std::string known;
      for (const auto& [spelling, value] : spellings<EvaluationMetric>) {
        known += fmt::format("{}{}", known.empty() ? "" : ", ", spelling);
      }
      throw UsageError(fmt::format("--metrics: '{}' is none; there are {}", word, known));
    }
    metrics.insert(*metric);
    words.remove_prefix(std::min(comma + 1, words.size()));
  }
  if (metrics.empty()) throw UsageError("--metrics: name at least one");
  return metrics;
}

void require_valid(const EvaluationTerms& terms) {
  if (terms.needs_probabilities() && !terms.has_probabilities) {
    throw UsageError("--metrics: logloss, brier, calibration and auc are about probabilities, and this model has none");
  }
  if (terms.has(EvaluationMetric::kAuc) && terms.classes != 2) {
    throw UsageError(fmt::format("--metrics auc: the model has {} classes; it is for two", terms.classes));
  }
  if (terms.has(EvaluationMetric::kTopK) && !(terms.top_k >= 1 && terms.top_k <= terms.classes)) {
    throw UsageError(
        fmt::format("--top-k {}: must be from 1 to the number of classes, {}", terms.top_k, terms.classes));
  }
  if (terms.has(EvaluationMetric::kConfusion) && terms.classes > kMostClassesOfConfusion) {
    throw UsageError(
        fmt::format("--metrics confusion: {} classes make {} cells, most of them noise; for at most {} classes",
                    terms.classes, terms.classes * terms.classes, kMostClassesOfConfusion));
  }
}

ReleaseRequest evaluation_request(const EvaluationTerms& terms, Adjacency adjacency) {
  ReleaseRequest request{.name = "evaluation", .share = 1.0, .blocks = {}, .profiles = {}};
  const bool is_exchange = adjacency == Adjacency::kReplaceOne;
  SensitivityProfile profile{is_exchange ? "another row" : "one row more or less", {}};
  const auto counts = [&](const char* name, std::size_t elements) {
    request.blocks.push_back({name, elements, static_cast<double>(elements) / 2.0});
    profile.squared_l2.push_back(is_exchange ? 2 : 1);
  };
  const auto loss = [&](const char* name) {
    constexpr auto kSquaredUnits = static_cast<std::uint64_t>(kLossUnits) * kLossUnits;
    request.blocks.push_back({name, 1, 1.0 / static_cast<double>(kSquaredUnits)});
    profile.squared_l2.push_back(kSquaredUnits);
  };
  if (terms.has(EvaluationMetric::kAccuracy) || terms.has_losses()) counts("totals", 2);
  if (terms.has(EvaluationMetric::kRecall)) counts("by_class", 2 * terms.classes);
  if (terms.has(EvaluationMetric::kPrecision)) counts("by_prediction", 2 * terms.classes);
  if (terms.has(EvaluationMetric::kConfusion)) counts("confusion", terms.classes * terms.classes);
  if (terms.has(EvaluationMetric::kTopK)) counts("top_k", 2);
  if (terms.has(EvaluationMetric::kCalibration)) counts("calibration", 2 * kCalibrationBins);
  if (terms.has(EvaluationMetric::kAuc)) counts("scores", 2 * kScoreBins);
  if (terms.has(EvaluationMetric::kLogLoss)) loss("log_loss");
  if (terms.has(EvaluationMetric::kBrier)) loss("brier");
  DPREDUCE_ASSERT(!request.blocks.empty());
  request.profiles.push_back(std::move(profile));
  return request;
}

MetricCounts::MetricCounts(const EvaluationTerms& terms, const ReleaseRequest& request)
    : terms_(terms), statistic_(empty_statistic(request)) {}

void MetricCounts::add(std::int32_t label, std::span<const double> scores, std::span<const double> probabilities) {
  DPREDUCE_ASSERT(scores.size() == terms_.classes && label >= 0 && static_cast<std::size_t>(label) < terms_.classes);
  const auto y = static_cast<std::size_t>(label);
  const auto p = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  const std::size_t wrong = p == y ? 0 : 1;
  if (terms_.has(EvaluationMetric::kAccuracy) || terms_.has_losses()) ++block("totals")[wrong];
  if (terms_.has(EvaluationMetric::kRecall)) ++block("by_class")[2 * y + wrong];
  if (terms_.has(EvaluationMetric::kPrecision)) ++block("by_prediction")[2 * p + wrong];
  if (terms_.has(EvaluationMetric::kConfusion)) ++block("confusion")[y * terms_.classes + p];
  if (terms_.has(EvaluationMetric::kTopK)) {
    // Of equal scores that of the smaller class is the larger one, as in predictions.
    std::size_t before = 0;
    for (std::size_t c = 0; c < scores.size(); ++c) {
      before += scores[c] > scores[y] || (scores[c] == scores[y] && c < y) ? 1 : 0;
    }
    ++block("top_k")[before < terms_.top_k ? 0 : 1];
  }
  if (terms_.needs_probabilities()) add_probabilities(y, p, probabilities);
}

void MetricCounts::add_probabilities(std::size_t label, std::size_t predicted, std::span<const double> probabilities) {
  DPREDUCE_ASSERT(probabilities.size() == terms_.classes);
  if (terms_.has(EvaluationMetric::kCalibration)) {
    const std::size_t bin = bin_of(probabilities[predicted], kCalibrationBins);
    ++block("calibration")[2 * bin + (predicted == label ? 0 : 1)];
  }
  if (terms_.has(EvaluationMetric::kAuc)) {
    ++block("scores")[2 * bin_of(probabilities[1], kScoreBins) + (label == 1 ? 0 : 1)];
  }
  if (terms_.has(EvaluationMetric::kLogLoss)) {
    block("log_loss").front() += loss_units(-std::log(probabilities[label]), largest_log_loss(terms_.classes));
  }
  if (terms_.has(EvaluationMetric::kBrier)) {
    double sum = 0.0;
    for (std::size_t c = 0; c < probabilities.size(); ++c) {
      sum += std::pow(probabilities[c] - (c == label ? 1.0 : 0.0), 2);
    }
    block("brier").front() += loss_units(sum, kLargestBrier);
  }
}

}  // namespace dpreduce
