#include "common/plan/evaluation_terms.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostClassesOfConfusion = 1000;

}  // namespace

std::vector<EvaluationMetric> metrics_of(std::string_view words) {
  std::vector<EvaluationMetric> metrics;
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
    metrics.push_back(*metric);
    words.remove_prefix(std::min(comma + 1, words.size()));
  }
  if (metrics.empty()) throw UsageError("--metrics: name at least one");
  std::ranges::sort(metrics);
  metrics.erase(std::unique(metrics.begin(), metrics.end()), metrics.end());
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

}  // namespace dpreduce
