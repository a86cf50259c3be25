// Figures of a released evaluation, each with an interval that holds the noise and the sampling of test rows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/plan/released_block.hpp"
#include "evaluate/number_figures.hpp"
#include "evaluate/share_interval.hpp"
#include "worker/statistics/metric_counts.hpp"

namespace dpreduce {

/// B, bins of scores for AUC and ROC, where about so many rows are expected; 0 where that is not known. Pairs within a
/// bin count half: with 16 bins intervals of AUC held in 84 and 93 % on 10,000 rows of two even classes at epsilon 8
/// and 1, where 32 hold in 96 and 98 %, at most a quarter wider; on 200 rows at epsilon 1 they are a third wider.
constexpr std::size_t score_bins_for(double expected_rows) {
  constexpr double kManyRows = 10000.0;
  return expected_rows > kManyRows ? 64 : 32;
}

/// Of the first release, for the second.
struct NoisedNegatives {
  double rows;
  double sigma;  ///< of each bin's count
  std::size_t bins;
};

struct PrivateFigures {
  struct Bin {
    double from;
    double to;
    Estimate share;  ///< of rows with a largest probability from `from` to `to`: of right ones
  };

  /// Of two models on the same rows.
  struct Pair {
    Estimate accuracy_of_second;
    Estimate difference;      ///< second less first
    double second_is_better;  ///< probability that the difference is above 0
  };

  double level = 0.95;
  std::optional<Estimate> accuracy{};
  std::optional<Pair> pair{};
  std::optional<Estimate> balanced_accuracy{};
  std::vector<Estimate> by_group{};       ///< accuracy of each group, or empty
  std::optional<Estimate> largest_gap{};  ///< between two groups
  std::vector<Estimate> recall{};         ///< K, or empty
  std::vector<Estimate> precision{};      ///< K, or empty
  std::vector<double> confusion{};        ///< K x K noised counts, or empty
  double confusion_noise = 0.0;           ///< of each
  std::optional<Estimate> top_k{};        ///< rows with their class among the k largest scores
  std::vector<Bin> calibration{};
  std::optional<Estimate> calibration_error{};
  struct Threshold {
    double from;               ///< of the probability of the positive class
    Estimate true_positives;   ///< share of positives with as much
    Estimate false_positives;  ///< of negatives
  };
  std::vector<Threshold> roc{};
  std::optional<Estimate> area_of_roc{};
  std::optional<Estimate> auc{};
  std::optional<Estimate> micro_f1{};
  std::vector<Estimate> f1{};                  ///< of each class, or empty
  std::optional<NoisedNegatives> negatives{};  ///< that the AUC is told by
  std::optional<Estimate> log_loss{};
  std::optional<Estimate> brier{};
  std::optional<NumberFigures> numbers{};  ///< of all targets
  std::vector<NumberFigures> by_target{};  ///< m
  double largest_rmse = 1.0;               ///< that errors are clipped to
};

/// What `release`, made as evaluation_request says, tells at that level. Of `rows_alike` rows that may be those of one
/// person, sampling is taken to be that of one: intervals are rather too wide.
PrivateFigures private_figures(const Release& release, const EvaluationTerms& terms, double level,
                               double rows_alike = 1.0);
/// The same of a model that predicts numbers, of scales h.
PrivateFigures private_figures_of_numbers(const Release& release, const EvaluationTerms& terms, double level,
                                          double rows_alike, std::span<const double> scales);

/// Adds what the release "positives" tells. Precondition (asserted): `figures` are those of the release before it.
void add_positives(PrivateFigures& figures, const Release& release, double rows_alike = 1.0);

/// {"accuracy": {"value", "low", "high", "noise"}, ..., "recall": [{"class", ...}], ...}. Where an interval leaves out
/// next to nothing, the value is null, and "note" says so.
nlohmann::json to_json(const PrivateFigures& figures, const EvaluationTerms& terms);

/// The largest difference between two of these shares, whose noised counts are given. Its interval is what the shares'
/// intervals allow that hold all together at that level.
Estimate estimate_largest_gap(const std::vector<NoisedCounts>& counts, double level);

/// By how much the second of two models is right more often, from noised counts of rows that both, the second alone,
/// the first alone and none get right. With D the difference, n the rows and q the share of rows where they differ,
///
///     D = (second - first) / n,   noise s sqrt(2 + 4 D^2) / n,   sampling (q - D^2) / n
///
/// Precondition (asserted): four counts.
Estimate estimate_difference(const std::vector<double>& counts, double sigma, double level);

/// sum_b |d_b| / n, from noised sums d_b over the rows of each bin of right less their probability, with noise `sigma`
/// each; of about `rows` rows of which `bin_rows` are in each bin. Noise and sampling of variance v^2 make |d_b| larger
/// by
///
///     bias(d) = v sqrt(2 / pi) exp(-d^2 / 2 v^2) - |d| erfc(|d| / (v sqrt(2))),
///
/// which is subtracted: the value is the e with which rows n_b of each bin, off by e n_b, give that sum on average, or
/// 0. The interval's lower end is of the largest bias, that of d = 0, and its upper one of that of what was released,
/// which is less.
Estimate estimate_calibration_error(const std::vector<double>& gaps, double sigma, const std::vector<double>& bin_rows,
                                    double rows, double level);

/// Area under the curve, from noised sums over positives of F and 1 - F (metric_counts.hpp), r and w, in rows.
///
///     A = r / P, P = r + w;   noise of positives s hypot(A, 1 - A) / P,   of negatives s' sqrt(B / 3) / N;
///     sampling as of two histograms
Estimate estimate_auc(const NoisedCounts& positives, const NoisedNegatives& negatives, double level);

/// Area under the curve of two histograms of noised counts, from low scores to high: pairs of a positive and a negative
/// in one bin count half.
///
///     noise s sqrt(B / 3) sqrt(1 / P^2 + 1 / N^2);   sampling [hanley1982], formula of negative exponentials
Estimate estimate_auc(const std::vector<double>& positives, const std::vector<double>& negatives, double sigma,
                      double level);

}  // namespace dpreduce
