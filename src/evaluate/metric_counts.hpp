// What an evaluation releases of test rows: counts of right and wrong answers, and sums of bounded losses.
//
//     block              elements    what a row of class y, whose largest score is of class p, adds
//     totals             2           1 to right, or to wrong                          (accuracy; rows of losses)
//     by_class           2 K         1 to right or wrong of class y                     (recall)
//     by_prediction      2 K         1 to right or wrong of class p                     (precision)
//     confusion          K^2         1 to (y, p)
//     top_k              2           1 to right where y is among the k largest scores, else to wrong
//     calibration        2 B         1 to right or wrong of the bin of the largest probability; B = 15
//     scores             2 B         two classes: 1 to class 1 or 0 of the bin of the probability of class 1; B = 16
//     (AUC) log_loss, brier    1           floor(2^15 min(loss, L) / L); L = log(10 K), 2
//
// A row's terms are a function of that row and the model alone.
//
// Sensitivity, squared: a row moves one cell of each count by 1, and a loss by 2^15 at most: {1, ..., 2^30}.
// Replace-one {2, ..., 2^30}: two cells, and a loss between two values in [0, 2^15]. All blocks are one release: their
// joint change is that of one row. Never rows and right ones, which move together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/privacy_terms.hpp"
#include "common/base/spelling.hpp"
#include "common/plan/noise_plan.hpp"
#include "common/plan/statistic.hpp"

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
  kAuc
};
template <>
inline constexpr std::array spellings<EvaluationMetric>{
    std::pair{std::string_view{"accuracy"}, EvaluationMetric::kAccuracy},
    std::pair{std::string_view{"recall"}, EvaluationMetric::kRecall},
    std::pair{std::string_view{"precision"}, EvaluationMetric::kPrecision},
    std::pair{std::string_view{"confusion"}, EvaluationMetric::kConfusion},
    std::pair{std::string_view{"topk"}, EvaluationMetric::kTopK},
    std::pair{std::string_view{"logloss"}, EvaluationMetric::kLogLoss},
    std::pair{std::string_view{"brier"}, EvaluationMetric::kBrier},
    std::pair{std::string_view{"calibration"}, EvaluationMetric::kCalibration},
    std::pair{std::string_view{"auc"}, EvaluationMetric::kAuc}};

inline constexpr std::size_t kCalibrationBins = 15;
inline constexpr std::size_t kScoreBins = 16;
inline constexpr double kLargestBrier = 2.0;
inline constexpr std::int64_t kLossUnits = std::int64_t{1} << 15;

/// Largest log loss that counts: log(10 K).
double largest_log_loss(std::size_t classes);

/// What is asked for; public.
struct EvaluationTerms {
  std::set<EvaluationMetric> metrics{EvaluationMetric::kAccuracy, EvaluationMetric::kRecall};
  std::size_t classes = 0;         ///< K
  std::size_t top_k = 5;           ///< with kTopK; at most K
  bool has_probabilities = false;  ///< whether the model makes some of its scores

  bool has(EvaluationMetric metric) const { return metrics.contains(metric); }
  bool has_losses() const { return has(EvaluationMetric::kLogLoss) || has(EvaluationMetric::kBrier); }
  /// Whether a metric is about probabilities.
  bool needs_probabilities() const {
    return has_losses() || has(EvaluationMetric::kCalibration) || has(EvaluationMetric::kAuc);
  }
};

/// "accuracy,recall" as metrics. Throws UsageError naming a word that is none.
std::set<EvaluationMetric> metrics_of(std::string_view words);

/// Throws UsageError where a metric does not go with the model: probabilities without a link, AUC with other than two
/// classes, k above K, confusion of more than 1,000 classes.
void require_valid(const EvaluationTerms& terms);

/// The one release "evaluation". `loss_weight`s divide the budget so that the mean width of figures is about least
/// where every figure counts the same. Precondition (asserted): there is a metric.
ReleaseRequest evaluation_request(const EvaluationTerms& terms, Adjacency adjacency);

/// The blocks of evaluation_request, row by row.
class MetricCounts {
 public:
  explicit MetricCounts(const EvaluationTerms& terms, const ReleaseRequest& request);
  /// Adds a row of class `label`. Preconditions (asserted): K scores, and K probabilities where they are needed; 0 <=
  /// label < K.
  void add(std::int32_t label, std::span<const double> scores, std::span<const double> probabilities);
  Statistic take() && { return std::move(statistic_); }

 private:
  std::span<std::int64_t> block(std::string_view name) { return statistic_.block(statistic_.index_of(name)); }
  void add_probabilities(std::size_t label, std::size_t predicted, std::span<const double> probabilities);

  EvaluationTerms terms_;
  Statistic statistic_;
};

}  // namespace dpreduce
