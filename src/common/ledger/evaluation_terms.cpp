#include "common/ledger/evaluation_terms.hpp"

#include <set>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostClassesOfConfusion = 1000;

bool is_of_numbers(EvaluationMetric metric) {
  return metric == EvaluationMetric::kR2 || metric == EvaluationMetric::kRmse;
}

void require_valid_of_numbers(const EvaluationTerms& terms, std::string_view option) {
  if (std::ranges::all_of(terms.metrics, is_of_numbers) && terms.groups == 0 && !terms.has_pair) return;
  throw UsageError("{}: for a model that predicts numbers give r2 and rmse, without groups and without a second model",
                   option);
}

}  // namespace

std::vector<EvaluationMetric> usual_metrics(const EvaluationTerms& terms) {
  if (terms.has_targets) return {EvaluationMetric::kR2, EvaluationMetric::kRmse};
  if (terms.most_labels > 0) return {EvaluationMetric::kF1};
  return {EvaluationMetric::kAccuracy, EvaluationMetric::kRecall};
}

std::vector<EvaluationMetric> metrics_of(std::string_view words, std::string_view option) {
  std::set<EvaluationMetric> metrics;
  std::istringstream list{std::string(words)};
  for (std::string word; std::getline(list, word, ',');) {
    const auto metric = choice_of<EvaluationMetric>(word);
    if (!metric) {
      std::string known;
      for (const auto& [spelling, value] : spellings<EvaluationMetric>) {
        known += fmt::format("{}{}", known.empty() ? "" : ", ", spelling);
      }
      throw UsageError("{}: '{}' is not a metric; metrics are {}", option, word, known);
    }
    metrics.insert(*metric);
  }
  if (metrics.empty()) throw UsageError("{}: name at least one", option);
  return {metrics.begin(), metrics.end()};
}

void require_valid(const EvaluationTerms& terms, std::string_view option) {
  if (terms.has_targets) return require_valid_of_numbers(terms, option);
  if (std::ranges::any_of(terms.metrics, is_of_numbers)) {
    throw UsageError("{} r2, rmse: are for models that predict numbers, and this one predicts classes", option);
  }
  // Sensitivities follow from these: they are looked at here, too, whichever way the terms have come.
  if (terms.has(EvaluationMetric::kF1) != (terms.most_labels > 0)) {
    throw UsageError("{} f1 goes with --max-labels k and labels that are n x K zeros and ones", option);
  }
  if (terms.most_labels > 0 && (terms.metrics.size() > 1 || terms.groups > 0 || terms.has_pair)) {
    throw UsageError("--max-labels with --private: f1 of one model is the only metric of label sets");
  }
  if (terms.most_labels > terms.classes || terms.most_predicted > terms.classes) {
    throw UsageError("--max-labels {} and --max-predicted {}: must be at most the number of classes, {}",
                     terms.most_labels, terms.most_predicted, terms.classes);
  }
  if (terms.needs_probabilities() && !terms.has_probabilities) {
    throw UsageError("{}: logloss, brier, calibration, auc and roc need probabilities, which this model does not have",
                     option);
  }
  if (terms.is_about_one_class() && terms.classes != 2 && !terms.positive) {
    throw UsageError(
        "{} auc, roc: the model has {} classes; give the one to compare with all others as --positive CLASS", option,
        terms.classes);
  }
  if (terms.positive_class() >= terms.classes) {
    throw UsageError("--positive {}: must be a class, from 0 to {}", *terms.positive, terms.classes - 1);
  }
  if (terms.has(EvaluationMetric::kTopK) && !(terms.top_k >= 1 && terms.top_k <= terms.classes)) {
    throw UsageError("--top-k {}: must be from 1 to the number of classes, {}", terms.top_k, terms.classes);
  }
  if (!terms.class_groups.empty() && terms.class_groups.size() != terms.classes) {
    throw UsageError("--class-groups: has {} groups; give one group for each of the {} classes",
                     terms.class_groups.size(), terms.classes);
  }
  const std::size_t groups = terms.confusion_groups();
  if (terms.has(EvaluationMetric::kConfusion) && groups > kMostClassesOfConfusion) {
    throw UsageError(
        "{} confusion: {} classes make {} cells, most of them noise; use at most {} classes, or groups of "
        "classes (--class-groups)",
        option, groups, groups * groups, kMostClassesOfConfusion);
  }
}

}  // namespace dpreduce
