// Metrics of test rows: for classes, sets of classes, and targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/lattice/row_transform.hpp"

namespace dpreduce {

// Figures about test rows: how often, and for whom, the classifier is right.
//
// Legend: K classes, M_tp the number of test rows of class t that were given class p; support_t = sum_p M_tp.
// These are exact counts of the test rows. They are outside of the privacy guarantee, which is about training rows.

/// Largest K of which M is kept: 8 MiB of counts. All figures but M itself need 3 K counts.
inline constexpr std::size_t kMostClassesInMatrix = 1024;

/// Counts of the classes that test rows of K classes were given: support_c, given_c = sum_t M_tc and M_cc of each
/// class, and all of M up to kMostClassesInMatrix. Counts of two parts of the rows are added word by word, so that any
/// split of them gives the same.
class ClassCounts {
 public:
  /// All zero. Throws UsageError where K is 0.
  explicit ClassCounts(std::size_t classes);

  std::size_t classes() const { return classes_; }

  /// M_tp += 1. Throws BadInput where the true label is not from 0 to K - 1; asserts that the predicted one is.
  void add(std::int64_t true_label, std::int32_t predicted_label);

  // Precondition (asserted): there is such a class.
  std::uint64_t support(std::size_t true_label) const { return in_row(0, true_label); }
  std::uint64_t predicted(std::size_t label) const { return in_row(1, label); }  ///< rows that were given this class
  std::uint64_t right(std::size_t label) const { return in_row(2, label); }      ///< M_cc
  std::uint64_t total() const;

  /// Returns whether M is kept.
  bool has_matrix() const { return has_matrix(classes_); }
  /// M_tp. Precondition (asserted): has_matrix.
  std::uint64_t count(std::size_t true_label, std::size_t predicted_label) const;

  /// Bytes of the counts of so many classes.
  static std::uint64_t bytes(std::size_t classes);

  /// All counts, to be added to those of other rows.
  std::span<std::uint64_t> counts() { return counts_; }

 private:
  static bool has_matrix(std::size_t classes) { return classes <= kMostClassesInMatrix; }
  std::uint64_t in_row(std::size_t row, std::size_t label) const;

  std::size_t classes_;
  std::vector<std::uint64_t> counts_;  // support | given | M_cc | M, row-major
};

/// M_tt / support_t: the accuracy on the rows of class t. Empty if it has none.
std::optional<double> recall(const ClassCounts& counts, std::size_t label);

/// The ceil(K / 4) classes with the smallest training shares, ties to the smaller class; in increasing order of class.
/// The data owner declares the shares publicly, in any unit. Throws UsageError if there are none, or one is negative or
/// not finite. Source: [wahdany2025], smallest 25 % of training classes.
std::vector<std::size_t> minority_classes(std::span<const double> training_shares);

/// {"accuracy": sum_t M_tt / sum_tp M_tp, "balanced_accuracy": the mean recall over the classes that have test rows,
/// "rows", "per_class": [recall], "per_class_precision": [M_pp / (rows that were given class p)], "per_class_f1":
/// [2 M_cc / (support_c + rows that were given class c)], "per_class_support": [..]}, and where shares are given
/// {"minority_accuracy": the mean recall over those of minority_classes(training_shares) that have test rows,
/// "minority_classes": [..]}. A figure is null if its denominator is zero. Throws UsageError where the number of shares
/// is not K, and as minority_classes.
nlohmann::json to_json(const ClassCounts& counts, std::span<const double> training_shares = {});

// Figures about test rows that may be of several classes, or of none.
//
// Legend: K classes; Y the classes of a row; s_c its score of class c. A row is positive for the classes in Y.
// These are exact figures of the test rows. They are outside of the privacy guarantee, which is about training rows.

/// Average precision of one class, sum over the scores t of its positive rows of P(t) (R(t) - R(t + 1)): P(t) the share
/// of positives among rows with a score >= t, R(t) the share of positives that have one, t + 1 the next larger score.
/// Rows of equal score come together, so that their order does not matter. Kept are the scores of positive rows alone;
/// of all rows it is counted between which two of them they lie.
class RankCounts {
 public:
  /// `scores` of all positive rows, in any order. Memory: 24 bytes each.
  explicit RankCounts(std::vector<double> scores);

  /// Counts a row, positive or not. Cost: log of the number of positives.
  void add(double score);

  /// Counts that add has made, to be added to the counts of other rows of the same positives.
  std::span<std::uint64_t> rows() { return rows_; }

  /// Average precision, once all rows are counted. Empty without positives.
  std::optional<double> average_precision() const;

 private:
  std::vector<double> scores_;            // t_1 > t_2 > ... of positive rows
  std::vector<std::uint64_t> positives_;  // rows of score t_j
  std::vector<std::uint64_t> rows_;       // all rows with t_j <= score < t_{j-1}
};

struct LabelSetFigures {
  /// Places of the counts of rows.
  enum OfRows : std::size_t {
    kRows,
    kLabeledRows,  ///< Y is not empty
    kHits,         ///< rows whose largest score (of equal ones the first) is of a class in Y
    kTopHits,      ///< pairs of a row and one of its classes among its top_k
    kOfRows
  };
  /// Places of the counts of a class.
  enum OfClass : std::size_t {
    kPositives,  ///< rows of the class
    kGiven,      ///< rows with s_c >= threshold
    kRight,      ///< rows that are both
    kOfClass
  };

  /// Figures of no rows, and K classes.
  explicit LabelSetFigures(std::size_t classes) : counts(kOfRows + kOfClass * classes), average_precisions(classes) {}

  /// Counts a row with these scores, which is of the classes `labels`.
  void add(std::span<const double> scores, std::span<const std::int32_t> labels);

  /// Place of a count of class c.
  static constexpr std::size_t at(std::size_t c, OfClass what) { return kOfRows + kOfClass * c + what; }

  std::optional<double> threshold{};                      ///< empty: no class is given
  std::optional<std::size_t> top_k{};                     ///< the k largest scores of every row, equal ones by class
  std::vector<std::uint64_t> counts;                      ///< to be added to those of other rows
  std::vector<std::optional<double>> average_precisions;  ///< of each class (RankCounts)
};

/// {"rows", "rows_without_labels", "hit_rate": hits over labeled rows, "mean_average_precision": the mean over classes
/// with positives, "classes_without_positives": [c], "per_class_average_precision", "per_class_support"}, and where
/// there is a threshold {"threshold", "micro_f1": 2 right / (positives + given) of all classes together, "macro_f1":
/// the mean of the classes' own over those with positives, "per_class_f1"}; where there is a top {"top_k",
/// "precision_at_k": its hits over k times the labeled rows, "recall_at_k": over all positives}. Figures without a
/// denominator are null.
nlohmann::json to_json(const LabelSetFigures& figures);

// Figures about test rows with numbers: how much of them the predictions explain.
//
// Legend: y the m targets of a row, f what the model predicts, c and h the model's centers and scales:
//
//     R^2_t = 1 - sum (y_t - f_t)^2 / sum (y_t - mean)^2        RMSE_t = sqrt(sum (y_t - f_t)^2 / n)
//
// Sums are of (y - c) / h and (y - f) / h, as integers on a grid of 2^-56, which have no order: figures are the same
// for any number of ranks. A number whose square is 2^192 or more is in no sum, and leaves no figure. They are exact
// figures of the test rows, outside of the privacy guarantee.

class TargetFigures {
 public:
  /// All zero. Precondition (asserted): centers and scales are known.
  explicit TargetFigures(TargetColumns targets);

  /// Adds a row. Precondition (asserted): m targets, and m predictions.
  void add(std::span<const double> targets, std::span<const double> predictions);

  /// All sums, to be added to those of other rows word by word.
  std::span<std::uint64_t> words() { return words_; }

  std::uint64_t rows() const { return words_.front(); }
  std::size_t targets() const { return targets_.count; }
  /// Empty where rows are none or all alike, or a number is too large for sums.
  std::optional<double> r2(std::size_t target) const;
  /// Empty without rows, or where a number is too large.
  std::optional<double> rmse(std::size_t target) const;

 private:
  void put(std::size_t sum, double value);
  double sum(std::size_t place) const;

  TargetColumns targets_;
  std::vector<std::uint64_t> words_;  // rows, numbers that no sum holds, then the words of three sums of each target
};

/// {"r2": the mean over targets, "rmse": the root of the mean square over targets, "rows"}, and where there are several
/// "per_target_r2" and "per_target_rmse". Empty figures are null.
nlohmann::json to_json(const TargetFigures& figures);

}  // namespace dpreduce
