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

  /// M += other. Throws UsageError where the numbers of classes differ.
  void merge(const ConfusionMatrix& other);

  /// M += counts, K x K, row-major: what a sum over ranks delivers. Throws UsageError where the size differs.
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

}  // namespace dpreduce
