#include "common/model/label_set_metrics.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace dpreduce {
namespace {

nlohmann::json ratio(double numerator, std::uint64_t denominator) {
  if (denominator == 0) return nullptr;
  return numerator / static_cast<double>(denominator);
}

nlohmann::json f1_of(const LabelSetFigures::OfClass& figures) {
  return ratio(2.0 * static_cast<double>(figures.right), figures.positives + figures.given);
}

}  // namespace

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
