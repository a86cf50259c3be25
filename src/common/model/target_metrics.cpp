#include "common/model/target_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// Of a sum: digits of 31 bits, each in a word of its own, so that those of 2^32 rows carry into nothing.
constexpr std::size_t kWords = 8;
constexpr int kWordBits = 31;
constexpr int kGridBits = 56;
constexpr std::size_t kSums = 3;      // of v, v^2 and e^2
constexpr std::size_t kFirstSum = 2;  // after the number of rows, and of numbers that no sum holds

// What rounding leaves of the spread of equal numbers is below it: 2^-56 a row, and 2^-53 of their squares.
constexpr double kLeastSpread = 1e-14;

double unit_of(std::size_t word) {
  return std::ldexp(1.0, static_cast<int>(word) * kWordBits - kGridBits);
}

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
  const auto of_r2 = of_targets(figures, &TargetFigures::r2);
  const auto of_rmse = of_targets(figures, &TargetFigures::rmse);
  double sum_of_r2 = 0.0;
  double root_of_squares = 0.0;
  bool are_there = true;
  for (const std::optional<double>& r2 : of_r2) {
    are_there = are_there && r2.has_value();
    sum_of_r2 += r2.value_or(0.0);
  }
  for (const std::optional<double>& rmse : of_rmse) root_of_squares = std::hypot(root_of_squares, rmse.value_or(0.0));
  const auto count = static_cast<double>(figures.targets());
  nlohmann::json json{{"r2", are_there ? nlohmann::json(sum_of_r2 / count) : nlohmann::json()},
                      {"rmse", of_rmse.front() ? nlohmann::json(root_of_squares / std::sqrt(count)) : nlohmann::json()},
                      {"rows", figures.rows()}};
  if (figures.targets() == 1) return json;
  json["per_target_r2"] = as_list(of_r2);
  json["per_target_rmse"] = as_list(of_rmse);
  return json;
}

}  // namespace dpreduce
