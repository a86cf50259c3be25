// Figures about test rows: how often, and for whom, the classifier is right.
//
// Legend: K classes, M_tp the number of test rows of class t that were given class p; support_t = sum_p M_tp.
// These are exact counts of the test rows. They are outside of the privacy guarantee, which is about training rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace dpreduce {

/// M, K x K. Merging is addition, so that any split of the test rows gives the same matrix.
class ConfusionMatrix {
 public:
  /// All zero. Throws UsageError where K is 0.
  explicit ConfusionMatrix(std::size_t classes);

  std::size_t classes() const { return classes_; }

  /// M_tp += 1. Throws BadInput where the true label is not from 0 to K - 1; asserts that the predicted one is.
  void add(std::int64_t true_label, std::int32_t predicted_label);

  /// M += counts, K x K, row-major: what a sum over ranks delivers. Precondition (asserted): the size is the same.
  void merge(std::span<const std::int64_t> counts);

  std::int64_t count(std::size_t true_label, std::size_t predicted_label) const;
  std::int64_t support(std::size_t true_label) const;
  std::int64_t predicted(std::size_t label) const;  ///< rows that were given this class
  std::int64_t total() const;

  /// M, row-major.
  std::span<const std::int64_t> counts() const { return counts_; }

 private:
  std::size_t classes_;
  std::vector<std::int64_t> counts_;
};

// Each figure is empty where its denominator is zero.

/// sum_t M_tt / sum_tp M_tp
std::optional<double> accuracy(const ConfusionMatrix& matrix);

/// M_tt / support_t: the accuracy on the rows of class t.
std::optional<double> recall(const ConfusionMatrix& matrix, std::size_t label);

/// M_pp / (rows that were given class p)
std::optional<double> precision(const ConfusionMatrix& matrix, std::size_t label);

/// 2 M_cc / (support_c + rows that were given class c)
std::optional<double> f1_score(const ConfusionMatrix& matrix, std::size_t label);

/// The mean recall over the classes that have test rows.
std::optional<double> balanced_accuracy(const ConfusionMatrix& matrix);

/// The ceil(K / 4) classes with the smallest training shares, ties to the smaller class; in increasing order of class.
/// The shares are the data owner's public word, in any unit. Throws UsageError where there are none, or one is negative
/// or not finite. Source: [wahdany2025], smallest 25 % of training classes.
std::vector<std::size_t> minority_classes(std::span<const double> training_shares);

/// The mean recall over those of minority_classes(training_shares) that have test rows. Throws UsageError where the
/// number of shares is not K.
std::optional<double> minority_accuracy(const ConfusionMatrix& matrix, std::span<const double> training_shares);

/// {"accuracy", "balanced_accuracy", "rows", "per_class": [recall], "per_class_precision": [..], "per_class_f1": [..],
/// "per_class_support": [..]}, and {"minority_accuracy", "minority_classes": [..]} where shares are given. Empty
/// figures are null.
nlohmann::json to_json(const ConfusionMatrix& matrix, std::span<const double> training_shares = {});

// Figures about test rows that may be of several classes, or of none.
//
// Legend: K classes; Y the classes of a row; s_c its score of class c. A row is positive for the classes in Y.
// These are exact figures of the test rows. They are outside of the privacy guarantee, which is about training rows.

/// A test row as one class sees it.
struct RankedRow {
  double score = 0.0;
  bool is_positive = false;
};

/// Average precision, sum over the scores t that occur of P(t) (R(t) - R(t + 1)): P(t) the share of positives among
/// rows with a score >= t, R(t) the share of positives that have one, t + 1 the next larger score. Rows of equal score
/// come together, so that their order does not matter. Empty without positives. Cost: n log n.
std::optional<double> average_precision(std::vector<RankedRow> rows);

struct LabelSetFigures {
  struct OfClass {
    std::uint64_t positives = 0;  ///< rows of the class
    std::uint64_t given = 0;      ///< rows with s_c >= threshold
    std::uint64_t right = 0;      ///< rows that are both
    std::optional<double> average_precision;
  };

  /// Figures of the k largest scores of every row, equal ones by class.
  struct Top {
    std::size_t k = 1;
    std::uint64_t hits = 0;  ///< pairs of a row and one of its classes among these k
  };

  std::uint64_t rows = 0;
  std::uint64_t labeled_rows = 0;  ///< Y is not empty
  std::uint64_t hits = 0;          ///< rows whose largest score (of equal ones the first) is of a class in Y
  std::optional<double> threshold;
  std::vector<OfClass> classes;  ///< K
  std::optional<Top> top{};
};

/// {"rows", "rows_without_labels", "hit_rate": hits over labeled rows, "mean_average_precision": the mean over classes
/// with positives, "classes_without_positives": [c], "per_class_average_precision", "per_class_support"}, and where
/// there is a threshold {"threshold", "micro_f1": 2 right / (positives + given) of all classes together, "macro_f1":
/// the mean of the classes' own over those with positives, "per_class_f1"}; where there is a top {"top_k",
/// "precision_at_k": its hits over k times the labeled rows, "recall_at_k": over all positives}. Figures without a
/// denominator are null.
nlohmann::json to_json(const LabelSetFigures& figures);

}  // namespace dpreduce
