// Terms of an evaluation with noise; public.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "common/base/described_types.hpp"

namespace dpreduce {

enum class EvaluationMetric {
  kAccuracy,
  kRecall,  ///< and balanced accuracy
  kPrecision,
  kConfusion,
  kTopK,
  kLogLoss,
  kBrier,
  kCalibration,
  kAuc,
  kRoc,  ///< the curve
  kF1,   ///< of label sets, their only figure
  kR2,   ///< of numbers
  kRmse  ///< the same
};
template <>
inline constexpr auto spellings<EvaluationMetric> = spelled<EvaluationMetric>("accuracy", "recall", "precision",
                                                                              "confusion", "topk", "logloss", "brier",
                                                                              "calibration", "auc", "roc", "f1", "r2",
                                                                              "rmse");

/// Lower bound on reported R^2: a smaller one is reported as this.
inline constexpr double kLeastR2 = -1.0;

/// Largest number of groups, of rows and of classes.
inline constexpr std::size_t kMostGroups = 10000;

struct EvaluationTerms {
  std::vector<EvaluationMetric> metrics{};  ///< rising; empty: the usual ones (evaluation_of)
  std::size_t classes = 0;                  ///< K
  std::size_t top_k = 5;                    ///< with kTopK; at most K
  bool has_probabilities = false;           ///< whether the model makes some of its scores
  bool has_odds = false;                  ///< whether its scores are log probabilities, so that classes can be weighed
  std::optional<std::size_t> positive{};  ///< the class against the rest, of kAuc and kRoc; of two classes 1
  std::size_t score_bins = 16;            ///< B, of its scores
  std::vector<std::size_t> class_groups{};  ///< of each class, from 0, of confusion by groups; empty: by classes
  std::size_t most_labels = 0;              ///< k, of label sets; 0: a row has one class
  std::optional<double> threshold{};        ///< from which on scores of a set's classes count; there with k
  std::size_t most_predicted = 0;           ///< m, the most classes of a set that count as predicted; with k
  std::size_t groups = 0;                   ///< G, of rows that have a group; 0: none have
  bool has_pair = false;                    ///< whether a second model is evaluated on the same rows
  bool has_targets = false;                 ///< whether the model predicts K numbers, and rows have them
  bool operator==(const EvaluationTerms&) const = default;

  bool has(EvaluationMetric metric) const { return std::ranges::find(metrics, metric) != metrics.end(); }
  /// Returns whether right and wrong rows are counted separately; never for a pair of models, whose counts show as
  /// much.
  bool has_totals() const { return !has_pair && (has(EvaluationMetric::kAccuracy) || has_losses()); }
  bool has_losses() const { return has(EvaluationMetric::kLogLoss) || has(EvaluationMetric::kBrier); }
  /// Number of rows, and of columns, of the confusion matrix; below, the row and column of a class.
  std::size_t confusion_groups() const { return class_groups.empty() ? classes : std::ranges::max(class_groups) + 1; }
  std::size_t confusion_group(std::size_t c) const { return class_groups.empty() ? c : class_groups[c]; }
  std::size_t positive_class() const { return positive.value_or(1); }
  bool is_about_one_class() const { return has(EvaluationMetric::kAuc) || has(EvaluationMetric::kRoc); }
  /// Returns whether a metric uses probabilities.
  bool needs_probabilities() const {
    return has_losses() || has(EvaluationMetric::kCalibration) || is_about_one_class();
  }
  /// Returns whether a metric uses more of a row's scores than which is largest.
  bool needs_scores() const { return needs_probabilities() || has(EvaluationMetric::kTopK) || most_labels > 0; }
};

DPREDUCE_ARCHIVE(EvaluationTerms, metrics, classes, top_k, has_probabilities, has_odds, positive, score_bins,
                 class_groups, most_labels, threshold, most_predicted, groups, has_pair, has_targets)

/// Metrics reported if none is named: accuracy, recall by class and its mean; for sets of at most k labels, F1; for
/// numbers, R^2 and RMSE.
std::vector<EvaluationMetric> usual_metrics(const EvaluationTerms& terms);

/// "accuracy,recall" as metrics, each once, rising. Throws UsageError naming `option` and a word that is none.
std::vector<EvaluationMetric> metrics_of(std::string_view words, std::string_view option = "--metrics");

/// Throws UsageError where a metric does not go with the model: probabilities without a link, AUC of one of several
/// classes that is not named, k above K, confusion of more than 1,000 classes or groups of them.
void require_valid(const EvaluationTerms& terms, std::string_view option = "--metrics");

}  // namespace dpreduce
