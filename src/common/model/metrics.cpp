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

nlohmann::json ratio(double numerator, std::uint64_t denominator) {
  if (denominator == 0) return nullptr;
  return numerator / static_cast<double>(denominator);
}

nlohmann::json f1_of(const LabelSetFigures::OfClass& figures) {
  return ratio(2.0 * static_cast<double>(figures.right), figures.positives + figures.given);
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

void ConfusionMatrix::merge(std::span<const std::int64_t> counts) {
  DPREDUCE_ASSERT(counts.size() == counts_.size());
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

std::optional<double> average_precision(std::vector<RankedRow> rows) {
  std::sort(rows.begin(), rows.end(), [](const RankedRow& a, const RankedRow& b) { return a.score > b.score; });
  std::uint64_t positives = 0;  // among the rows seen
  double sum = 0.0;
  for (std::size_t first = 0; first < rows.size();) {
    std::uint64_t gained = 0;
    std::size_t end = first;
    for (; end < rows.size() && rows[end].score == rows[first].score; ++end) gained += rows[end].is_positive ? 1 : 0;
    positives += gained;
    sum += static_cast<double>(gained) * static_cast<double>(positives) / static_cast<double>(end);
    first = end;
  }
  if (positives == 0) return std::nullopt;
  return sum / static_cast<double>(positives);
}

nlohmann::json to_json(const LabelSetFigures& figures) {
  nlohmann::json json{{"rows", figures.rows},
                      {"rows_without_labels", figures.rows - figures.labeled_rows},
                      {"hit_rate", ratio(static_cast<double>(figures.hits), figures.labeled_rows)},
                      {"classes_without_positives", nlohmann::json::array()},
                      {"per_class_average_precision", nlohmann::json::array()},
                      {"per_class_support", nlohmann::json::array()}};
  double precisions = 0.0;
  double f1s = 0.0;
  std::uint64_t with_positives = 0;
  LabelSetFigures::OfClass together;
  nlohmann::json per_class_f1 = nlohmann::json::array();
  for (std::size_t c = 0; c < figures.classes.size(); ++c) {
    const LabelSetFigures::OfClass& of_class = figures.classes[c];
    together.positives += of_class.positives;
    together.given += of_class.given;
    together.right += of_class.right;
    json["per_class_support"].push_back(of_class.positives);
    const std::optional<double>& precision = of_class.average_precision;
    json["per_class_average_precision"].push_back(precision ? nlohmann::json(*precision) : nlohmann::json(nullptr));
    per_class_f1.push_back(f1_of(of_class));
    if (!precision) {
      json["classes_without_positives"].push_back(c);
      continue;
    }
    precisions += *precision;
    f1s += per_class_f1.back().get<double>();
    ++with_positives;
  }
  json["mean_average_precision"] = ratio(precisions, with_positives);
  if (figures.threshold) {
    json["threshold"] = *figures.threshold;
    json["micro_f1"] = f1_of(together);
    json["macro_f1"] = ratio(f1s, with_positives);
    json["per_class_f1"] = std::move(per_class_f1);
  }
  if (figures.top) {
    const auto hits = static_cast<double>(figures.top->hits);
    json["top_k"] = figures.top->k;
    json["precision_at_k"] = ratio(hits, figures.top->k * figures.labeled_rows);
    json["recall_at_k"] = ratio(hits, together.positives);
  }
  return json;
}

}  // namespace dpreduce
