#include "common/model/metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/model/classifier.hpp"

namespace dpreduce {
namespace {

std::optional<double> share(auto part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::optional<double> mean_recall(const ClassCounts& counts, std::span<const std::size_t> labels) {
  double sum = 0.0;
  std::uint64_t present = 0;
  for (const std::size_t label : labels) {
    if (const std::optional<double> value = recall(counts, label)) {
      sum += *value;
      ++present;
    }
  }
  return share(sum, present);
}

std::vector<std::size_t> all_classes(std::size_t classes) {
  std::vector<std::size_t> labels(classes);
  std::iota(labels.begin(), labels.end(), std::size_t{0});
  return labels;
}

nlohmann::json ratio(double numerator, std::uint64_t denominator) {
  return or_null(share(numerator, denominator));
}

nlohmann::json f1_of(std::span<const std::uint64_t> of_class) {
  return ratio(2.0 * static_cast<double>(of_class[LabelSetFigures::kRight]),
               of_class[LabelSetFigures::kPositives] + of_class[LabelSetFigures::kGiven]);
}

}  // namespace

ClassCounts::ClassCounts(std::size_t classes) : classes_(classes) {
  if (classes == 0) throw UsageError("classes: 0, but counts of classes need at least one");
  counts_.resize(bytes(classes) / sizeof(std::uint64_t));
}

std::uint64_t ClassCounts::bytes(std::size_t classes) {
  return sizeof(std::uint64_t) * (has_matrix(classes) ? 3 + classes : 3) * classes;
}

void ClassCounts::add(std::int64_t true_label, std::int32_t predicted_label) {
  if (true_label < 0 || static_cast<std::uint64_t>(true_label) >= classes_) {
    throw BadInput("test label {} is not from 0 to {}, the classes of the model", true_label, classes_ - 1);
  }
  const auto label = static_cast<std::size_t>(true_label);
  const auto given = static_cast<std::size_t>(predicted_label);
  DPREDUCE_ASSERT(predicted_label >= 0 && given < classes_);
  ++counts_[label];
  ++counts_[classes_ + given];
  if (label == given) ++counts_[2 * classes_ + label];
  if (has_matrix()) ++counts_[(3 + label) * classes_ + given];
}

std::uint64_t ClassCounts::in_row(std::size_t row, std::size_t label) const {
  DPREDUCE_ASSERT(label < classes_);
  return counts_[row * classes_ + label];
}

std::uint64_t ClassCounts::count(std::size_t true_label, std::size_t predicted_label) const {
  DPREDUCE_ASSERT(has_matrix() && true_label < classes_);
  return in_row(3 + true_label, predicted_label);
}

std::uint64_t ClassCounts::total() const {
  return std::accumulate(counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(classes_), std::uint64_t{0});
}

std::optional<double> recall(const ClassCounts& counts, std::size_t label) {
  return share(counts.right(label), counts.support(label));
}

std::vector<std::size_t> minority_classes(std::span<const double> training_shares) {
  if (training_shares.empty()) throw UsageError("training shares: none given, but minority classes need one per class");
  for (std::size_t label = 0; label < training_shares.size(); ++label) {
    if (!(training_shares[label] >= 0.0) || !std::isfinite(training_shares[label])) {
      throw UsageError("training share {} of class {} is not a finite number from 0 up", training_shares[label], label);
    }
  }
  std::vector<std::size_t> labels = all_classes(training_shares.size());
  std::stable_sort(labels.begin(), labels.end(),
                   [&](std::size_t left, std::size_t right) { return training_shares[left] < training_shares[right]; });
  labels.resize((labels.size() + 3) / 4);
  std::sort(labels.begin(), labels.end());
  return labels;
}

nlohmann::json to_json(const ClassCounts& counts, std::span<const double> training_shares) {
  const std::vector<std::size_t> labels = all_classes(counts.classes());
  nlohmann::json figures = {{"balanced_accuracy", or_null(mean_recall(counts, labels))}, {"rows", counts.total()}};
  for (const char* name : {"per_class", "per_class_precision", "per_class_f1", "per_class_support"}) {
    figures[name] = nlohmann::json::array();
  }
  std::uint64_t right_in_all = 0;
  for (const std::size_t label : labels) {
    const std::uint64_t right = counts.right(label);
    const std::uint64_t given = counts.predicted(label);
    const std::uint64_t support = counts.support(label);
    right_in_all += right;
    figures["per_class"].push_back(or_null(share(right, support)));
    figures["per_class_precision"].push_back(or_null(share(right, given)));
    figures["per_class_f1"].push_back(or_null(share(2 * right, support + given)));
    figures["per_class_support"].push_back(support);
  }
  figures["accuracy"] = or_null(share(right_in_all, counts.total()));
  if (training_shares.empty()) return figures;
  if (training_shares.size() != counts.classes()) {
    throw UsageError("{} training shares were given for {} classes", training_shares.size(), counts.classes());
  }
  const std::vector<std::size_t> minority = minority_classes(training_shares);
  figures["minority_accuracy"] = or_null(mean_recall(counts, minority));
  figures["minority_classes"] = minority;
  return figures;
}

RankCounts::RankCounts(std::vector<double> scores) : scores_(std::move(scores)) {
  std::sort(scores_.begin(), scores_.end(), std::greater<>());
  std::size_t distinct = 0;
  for (std::size_t row = 0; row < scores_.size(); ++row) {
    if (row == 0 || scores_[row] != scores_[distinct - 1]) {
      scores_[distinct++] = scores_[row];
      positives_.push_back(0);
    }
    ++positives_.back();
  }
  scores_.resize(distinct);
  rows_.resize(distinct);
}

void RankCounts::add(double score) {
  const auto reached = std::lower_bound(scores_.begin(), scores_.end(), score, std::greater<>());
  if (reached != scores_.end()) ++rows_[static_cast<std::size_t>(reached - scores_.begin())];
}

std::optional<double> RankCounts::average_precision() const {
  std::uint64_t positives = 0;  // with a score >= t
  std::uint64_t rows = 0;       // likewise
  double sum = 0.0;
  for (std::size_t t = 0; t < scores_.size(); ++t) {
    positives += positives_[t];
    rows += rows_[t];
    sum += static_cast<double>(positives_[t]) * static_cast<double>(positives) / static_cast<double>(rows);
  }
  return share(sum, positives);
}

void LabelSetFigures::add(std::span<const double> scores, std::span<const std::int32_t> labels) {
  const auto is_own = [&](std::int32_t label) { return std::ranges::find(labels, label) != labels.end(); };
  ++counts[kRows];
  counts[kLabeledRows] += labels.empty() ? 0 : 1;
  counts[kHits] += is_own(argmax(scores)) ? 1 : 0;
  for (const std::int32_t label : labels) {
    const auto c = static_cast<std::size_t>(label);
    ++counts[at(c, kPositives)];
    if (threshold && scores[c] >= *threshold) ++counts[at(c, kRight)];
  }
  if (threshold) {
    for (std::size_t c = 0; c < scores.size(); ++c) counts[at(c, kGiven)] += scores[c] >= *threshold ? 1 : 0;
  }
  if (!top_k) return;
  for (const std::int32_t label : largest_classes(scores, *top_k)) counts[kTopHits] += is_own(label) ? 1 : 0;
}

nlohmann::json to_json(const LabelSetFigures& figures) {
  using Figures = LabelSetFigures;
  const std::uint64_t rows = figures.counts[Figures::kRows];
  const std::uint64_t labeled_rows = figures.counts[Figures::kLabeledRows];
  nlohmann::json json{{"rows", rows},
                      {"rows_without_labels", rows - labeled_rows},
                      {"hit_rate", ratio(static_cast<double>(figures.counts[Figures::kHits]), labeled_rows)},
                      {"classes_without_positives", nlohmann::json::array()},
                      {"per_class_average_precision", nlohmann::json::array()},
                      {"per_class_support", nlohmann::json::array()}};
  double precisions = 0.0;
  double f1s = 0.0;
  std::uint64_t with_positives = 0;
  std::array<std::uint64_t, Figures::kOfClass> together{};
  nlohmann::json per_class_f1 = nlohmann::json::array();
  for (std::size_t c = 0; c < figures.average_precisions.size(); ++c) {
    const std::span of_class =
        std::span(figures.counts).subspan(Figures::at(c, Figures::kPositives), Figures::kOfClass);
    std::ranges::transform(together, of_class, together.begin(), std::plus<>());
    json["per_class_support"].push_back(of_class[Figures::kPositives]);
    const std::optional<double>& precision = figures.average_precisions[c];
    json["per_class_average_precision"].push_back(or_null(precision));
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
  if (figures.top_k) {
    const auto hits = static_cast<double>(figures.counts[Figures::kTopHits]);
    json["top_k"] = *figures.top_k;
    json["precision_at_k"] = ratio(hits, *figures.top_k * labeled_rows);
    json["recall_at_k"] = ratio(hits, together[Figures::kPositives]);
  }
  return json;
}

namespace {

// Words of a sum: digits of 31 bits, each in a word of its own, so that those of 2^32 rows carry into nothing.
constexpr std::size_t kWords = 8;
constexpr int kWordBits = 31;
constexpr int kGridBits = 56;
constexpr std::size_t kSums = 3;      // of v, v^2 and e^2
constexpr std::size_t kFirstSum = 2;  // after the number of rows, and of numbers that no sum holds

// Upper bound on what rounding leaves of the spread of equal numbers: 2^-56 a row, and 2^-53 of their squares.
constexpr double kLeastSpread = 1e-14;

double unit_of(std::size_t word) {
  return std::ldexp(1.0, static_cast<int>(word) * kWordBits - kGridBits);
}

}  // namespace

TargetFigures::TargetFigures(TargetColumns targets)
    : targets_(std::move(targets)), words_(kFirstSum + targets_.count * kSums * kWords, 0) {
  DPREDUCE_ASSERT(targets_.center.size() == targets_.count && targets_.scale.size() == targets_.count);
}

void TargetFigures::put(std::size_t sum, double value) {
  double rest = std::abs(value);
  if (!(rest < unit_of(kWords))) {
    ++words_[1];
    return;
  }
  for (std::size_t word = kWords; word-- > 0;) {
    const double digit = std::floor(rest / unit_of(word));
    rest -= digit * unit_of(word);
    const auto added = static_cast<std::uint64_t>(digit);
    words_[kFirstSum + sum * kWords + word] += value < 0.0 ? -added : added;
  }
}

double TargetFigures::sum(std::size_t place) const {
  double total = 0.0;
  for (std::size_t word = kWords; word-- > 0;) {
    total += static_cast<double>(static_cast<std::int64_t>(words_[kFirstSum + place * kWords + word])) * unit_of(word);
  }
  return total;
}

void TargetFigures::add(std::span<const double> targets, std::span<const double> predictions) {
  DPREDUCE_ASSERT(targets.size() == targets_.count && predictions.size() == targets_.count);
  ++words_.front();
  for (std::size_t t = 0; t < targets_.count; ++t) {
    const double scaled = (targets[t] - targets_.center[t]) / targets_.scale[t];
    const double error = (targets[t] - predictions[t]) / targets_.scale[t];
    put(kSums * t, scaled);
    put(kSums * t + 1, scaled * scaled);
    put(kSums * t + 2, error * error);
  }
}

std::optional<double> TargetFigures::r2(std::size_t target) const {
  if (rows() == 0 || words_[1] > 0) return std::nullopt;
  const double mean = sum(kSums * target) / static_cast<double>(rows());
  const double squares = sum(kSums * target + 1);
  const double spread = squares - mean * sum(kSums * target);
  if (!(spread > kLeastSpread * (squares + static_cast<double>(rows())))) return std::nullopt;
  return 1.0 - sum(kSums * target + 2) / spread;
}

std::optional<double> TargetFigures::rmse(std::size_t target) const {
  if (rows() == 0 || words_[1] > 0) return std::nullopt;
  return targets_.scale[target] * std::sqrt(sum(kSums * target + 2) / static_cast<double>(rows()));
}

nlohmann::json to_json(const TargetFigures& figures) {
  auto of_r2 = nlohmann::json::array();
  auto of_rmse = nlohmann::json::array();
  double sum_of_r2 = 0.0;
  double root_of_squares = 0.0;
  bool are_there = true;
  for (std::size_t t = 0; t < figures.targets(); ++t) {
    const std::optional<double> r2 = figures.r2(t);
    const std::optional<double> rmse = figures.rmse(t);
    are_there = are_there && r2.has_value();
    sum_of_r2 += r2.value_or(0.0);
    root_of_squares = std::hypot(root_of_squares, rmse.value_or(0.0));
    of_r2.push_back(or_null(r2));
    of_rmse.push_back(or_null(rmse));
  }
  const auto count = static_cast<double>(figures.targets());
  const bool has_rmse = !of_rmse.front().is_null();
  nlohmann::json json{{"r2", are_there ? nlohmann::json(sum_of_r2 / count) : nlohmann::json()},
                      {"rmse", has_rmse ? nlohmann::json(root_of_squares / std::sqrt(count)) : nlohmann::json()},
                      {"rows", figures.rows()}};
  if (figures.targets() == 1) return json;
  json["per_target_r2"] = std::move(of_r2);
  json["per_target_rmse"] = std::move(of_rmse);
  return json;
}

}  // namespace dpreduce
