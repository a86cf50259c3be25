#include "common/model/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

std::optional<double> ratio(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::optional<double> mean_recall(const ConfusionMatrix& matrix, std::span<const std::size_t> labels) {
  double sum = 0.0;
  std::int64_t present = 0;
  for (const std::size_t label : labels) {
    if (const std::optional<double> value = recall(matrix, label)) {
      sum += *value;
      ++present;
    }
  }
  if (present == 0) return std::nullopt;
  return sum / static_cast<double>(present);
}

std::vector<std::size_t> all_classes(std::size_t classes) {
  std::vector<std::size_t> labels(classes);
  std::iota(labels.begin(), labels.end(), std::size_t{0});
  return labels;
}

nlohmann::json or_null(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(std::size_t classes) : classes_(classes), counts_(classes * classes) {
  if (classes == 0) throw UsageError("classes: 0, but a confusion matrix needs at least one");
}

void ConfusionMatrix::add(std::int64_t true_label, std::int32_t predicted_label) {
  if (true_label < 0 || static_cast<std::uint64_t>(true_label) >= classes_) {
    throw BadInput(
        fmt::format("test label {} is not from 0 to {}, the classes of the model", true_label, classes_ - 1));
  }
  DPREDUCE_ASSERT(predicted_label >= 0 && static_cast<std::size_t>(predicted_label) < classes_);
  ++counts_[static_cast<std::size_t>(true_label) * classes_ + static_cast<std::size_t>(predicted_label)];
}

void ConfusionMatrix::merge(const ConfusionMatrix& other) {
  if (other.classes_ != classes_) {
    throw UsageError(fmt::format("confusion matrices of {} and {} classes cannot be added", classes_, other.classes_));
  }
  merge(other.counts());
}

void ConfusionMatrix::merge(std::span<const std::int64_t> counts) {
  if (counts.size() != counts_.size()) {
    throw UsageError(fmt::format("{} counts are no confusion matrix of {} classes", counts.size(), classes_));
  }
  std::transform(counts.begin(), counts.end(), counts_.begin(), counts_.begin(), std::plus<>());
}

std::int64_t ConfusionMatrix::count(std::size_t true_label, std::size_t predicted_label) const {
  DPREDUCE_ASSERT(true_label < classes_ && predicted_label < classes_);
  return counts_[true_label * classes_ + predicted_label];
}

std::int64_t ConfusionMatrix::support(std::size_t true_label) const {
  std::int64_t sum = 0;
  for (std::size_t label = 0; label < classes_; ++label) sum += count(true_label, label);
  return sum;
}

std::int64_t ConfusionMatrix::predicted(std::size_t label) const {
  std::int64_t sum = 0;
  for (std::size_t true_label = 0; true_label < classes_; ++true_label) sum += count(true_label, label);
  return sum;
}

std::int64_t ConfusionMatrix::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

std::optional<double> accuracy(const ConfusionMatrix& matrix) {
  std::int64_t right = 0;
  for (std::size_t label = 0; label < matrix.classes(); ++label) right += matrix.count(label, label);
  return ratio(right, matrix.total());
}

std::optional<double> recall(const ConfusionMatrix& matrix, std::size_t label) {
  return ratio(matrix.count(label, label), matrix.support(label));
}

std::optional<double> precision(const ConfusionMatrix& matrix, std::size_t label) {
  return ratio(matrix.count(label, label), matrix.predicted(label));
}

std::optional<double> f1_score(const ConfusionMatrix& matrix, std::size_t label) {
  return ratio(2 * matrix.count(label, label), matrix.support(label) + matrix.predicted(label));
}

std::optional<double> balanced_accuracy(const ConfusionMatrix& matrix) {
  return mean_recall(matrix, all_classes(matrix.classes()));
}

std::vector<std::size_t> minority_classes(std::span<const double> training_shares) {
  if (training_shares.empty()) throw UsageError("training shares: none, but minority classes need one a class");
  for (std::size_t label = 0; label < training_shares.size(); ++label) {
    if (!(training_shares[label] >= 0.0) || !std::isfinite(training_shares[label])) {
      throw UsageError(
          fmt::format("training share {} of class {} is not a finite number from 0 up", training_shares[label], label));
    }
  }
  std::vector<std::size_t> labels = all_classes(training_shares.size());
  std::stable_sort(labels.begin(), labels.end(),
                   [&](std::size_t left, std::size_t right) { return training_shares[left] < training_shares[right]; });
  labels.resize((labels.size() + 3) / 4);
  std::sort(labels.begin(), labels.end());
  return labels;
}

std::optional<double> minority_accuracy(const ConfusionMatrix& matrix, std::span<const double> training_shares) {
  if (training_shares.size() != matrix.classes()) {
    throw UsageError(
        fmt::format("{} training shares were given for {} classes", training_shares.size(), matrix.classes()));
  }
  return mean_recall(matrix, minority_classes(training_shares));
}

nlohmann::json to_json(const ConfusionMatrix& matrix, std::span<const double> training_shares) {
  nlohmann::json figures = {{"accuracy", or_null(accuracy(matrix))},
                            {"balanced_accuracy", or_null(balanced_accuracy(matrix))},
                            {"rows", matrix.total()}};
  for (const char* name : {"per_class", "per_class_precision", "per_class_f1", "per_class_support"}) {
    figures[name] = nlohmann::json::array();
  }
  for (std::size_t label = 0; label < matrix.classes(); ++label) {
    figures["per_class"].push_back(or_null(recall(matrix, label)));
    figures["per_class_precision"].push_back(or_null(precision(matrix, label)));
    figures["per_class_f1"].push_back(or_null(f1_score(matrix, label)));
    figures["per_class_support"].push_back(matrix.support(label));
  }
  if (!training_shares.empty()) {
    figures["minority_accuracy"] = or_null(minority_accuracy(matrix, training_shares));
    figures["minority_classes"] = minority_classes(training_shares);
  }
  return figures;
}

}  // namespace dpreduce
