#include "common/model/target_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

__extension__ using Wide = __int128;
__extension__ using WideUnsigned = unsigned __int128;

constexpr std::size_t kWords = 4;  // of 32 bits each, so that sums of 2^32 rows carry into nothing
constexpr unsigned kWordBits = 32;
constexpr double kGrid = 0x1p56;
constexpr double kMost = 0x1p39;  // of a row: 2^32 of them stay below 2^127 on the grid
constexpr std::size_t kSums = 3;  // of v, v^2 and e^2

std::vector<std::optional<double>> of_targets(const TargetFigures& figures,
                                              std::optional<double> (TargetFigures::*figure)(std::size_t) const) {
  std::vector<std::optional<double>> values;
  for (std::size_t t = 0; t < figures.targets(); ++t) values.push_back((figures.*figure)(t));
  return values;
}

nlohmann::json figure_json(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json as_list(const std::vector<std::optional<double>>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::optional<double>& value : values) list.push_back(figure_json(value));
  return list;
}

}  // namespace

TargetFigures::TargetFigures(TargetColumns targets)
    : targets_(std::move(targets)), words_(1 + targets_.count * kSums * kWords, 0) {
  DPREDUCE_ASSERT(targets_.center.size() == targets_.count && targets_.scale.size() == targets_.count);
}

void TargetFigures::put(std::size_t sum, double value) {
  const auto on_grid = static_cast<WideUnsigned>(static_cast<Wide>(std::clamp(value, -kMost, kMost) * kGrid));
  for (std::size_t word = 0; word < kWords; ++word) {
    words_[1 + sum * kWords + word] += static_cast<std::uint32_t>(on_grid >> (word * kWordBits));
  }
}

double TargetFigures::sum(std::size_t place) const {
  WideUnsigned total = 0;
  for (std::size_t word = 0; word < kWords; ++word) {
    total += WideUnsigned{words_[1 + place * kWords + word]} << (word * kWordBits);
  }
  return static_cast<double>(static_cast<Wide>(total)) / kGrid;
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
  if (rows() == 0) return std::nullopt;
  const double mean = sum(kSums * target) / static_cast<double>(rows());
  const double spread = sum(kSums * target + 1) - mean * sum(kSums * target);
  if (!(spread > 0.0)) return std::nullopt;
  return 1.0 - sum(kSums * target + 2) / spread;
}

std::optional<double> TargetFigures::rmse(std::size_t target) const {
  if (rows() == 0) return std::nullopt;
  return targets_.scale[target] * std::sqrt(sum(kSums * target + 2) / static_cast<double>(rows()));
}

nlohmann::json to_json(const TargetFigures& figures) {
  const auto of_r2 = of_targets(figures, &TargetFigures::r2);
  const auto of_rmse = of_targets(figures, &TargetFigures::rmse);
  double sum_of_r2 = 0.0;
  double sum_of_squares = 0.0;
  bool are_there = true;
  for (const std::optional<double>& r2 : of_r2) {
    are_there = are_there && r2.has_value();
    sum_of_r2 += r2.value_or(0.0);
  }
  for (const std::optional<double>& rmse : of_rmse) sum_of_squares += rmse.value_or(0.0) * rmse.value_or(0.0);
  const auto count = static_cast<double>(figures.targets());
  nlohmann::json json{
      {"r2", are_there ? nlohmann::json(sum_of_r2 / count) : nlohmann::json()},
      {"rmse", figures.rows() > 0 ? nlohmann::json(std::sqrt(sum_of_squares / count)) : nlohmann::json()},
      {"rows", figures.rows()}};
  if (figures.targets() == 1) return json;
  json["per_target_r2"] = as_list(of_r2);
  json["per_target_rmse"] = as_list(of_rmse);
  return json;
}

}  // namespace dpreduce
