#include "worker/metrics/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "common/base/error.hpp"
#include "common/ledger/evaluation_terms.hpp"
#include "worker/metrics/metric_entry.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kSums = 7;
constexpr double kLeastSpread = 1e-12;
constexpr double kNormalKurtosis = 3.0;

struct Moment {
  double value;
  double noise;
  double deviation;  // by noise and sampling
};

// The mean square of centered numbers, whose mean fourth power is about `fourth`.
Moment with_sampling(double square, double noise, double fourth, double rows) {
  const double most = std::min(square * square, 1.0);
  const double variation = std::max(fourth, kNormalKurtosis * most) - most;
  return {square, noise, std::hypot(noise, std::sqrt(variation / rows))};
}

// Interval of E / V, at z standard deviations. Where V may be 0, it is the whole range.
std::pair<double, double> ratio_interval(const Moment& e, const Moment& v, double z) {
  const double anywhere = 1.0 - kLeastR2;
  const double a = v.value * v.value - z * z * v.deviation * v.deviation;
  if (v.value <= 0.0 || a <= 0.0) return {0.0, anywhere};
  const double middle = e.value * v.value / a;
  const double reach = z * std::hypot(e.value * v.deviation, std::sqrt(a) * e.deviation) / a;
  return {std::clamp(middle - reach, 0.0, anywhere), std::clamp(middle + reach, 0.0, anywhere)};
}

// Root of a nonnegative moment, in units of targets.
Estimate root_of(const Moment& moment, double scale, double z) {
  const auto root = [&](double square) { return scale * std::sqrt(std::max(square, 0.0)); };
  const double slope = scale / (2.0 * std::sqrt(std::max(moment.value, moment.deviation)));
  return {root(moment.value), root(moment.value - z * moment.deviation), root(moment.value + z * moment.deviation),
          moment.noise > 0.0 ? slope * moment.noise : 0.0, moment.deviation > 0.0 ? slope * moment.deviation : 0.0};
}

// Sums that tell how much targets and errors vary have small weights: where predictions are good, errors matter more.
void declare_numbers(const EvaluationTerms& terms, MetricBlocks& blocks) {
  if (!terms.has_targets) return;
  constexpr double kOfSpread = 0.1;
  constexpr double kOfVariation = 0.02;
  blocks.all.push_back({"rows", 1, kOfSpread, 1, 1, true, [](const ScoredRow&, const RowCells& to) { to.count(0); }});
  const auto powers = [&](const char* name, double weight, std::uint64_t exchanged,
                          std::span<const double> ScoredRow::*numbers, double (*power)(double)) {
    blocks.sums(name, terms.classes, weight, exchanged, [=](const ScoredRow& row, const RowCells& to) {
      for (std::size_t t = 0; t < (row.*numbers).size(); ++t) {
        to.sum(t, static_cast<std::int64_t>(power((row.*numbers)[t]) * kLossUnits));
      }
    });
  };
  powers("targets", kOfSpread, 4, &ScoredRow::targets, [](double y) { return y; });
  powers("squares", kOfSpread, 2, &ScoredRow::targets, [](double y) { return y * y; });
  powers("cubes", kOfVariation, 4, &ScoredRow::targets, [](double y) { return y * y * y; });
  powers("fourths", kOfVariation, 2, &ScoredRow::targets, [](double y) { return y * y * y * y; });
  powers("errors", 1.0, 2, &ScoredRow::errors, [](double e) { return e * e; });
  powers("error_fourths", kOfVariation, 2, &ScoredRow::errors, [](double e) { return (e * e) * (e * e); });
}

void tell_numbers(const MetricReleases& from, nlohmann::json& told) {
  if (!from.terms.has_targets) return;
  DPREDUCE_ASSERT(from.scales.size() == from.terms.classes);
  std::vector<BlockNumbers> blocks;
  std::vector<double> sigmas;
  for (const char* const name : {"rows", "targets", "squares", "cubes", "fourths", "errors", "error_fourths"}) {
    blocks.push_back(from.numbers(name));
    sigmas.push_back(blocks.back().sigma / (sigmas.empty() ? 1.0 : static_cast<double>(kLossUnits)));
  }
  std::vector<NumberFigures> by_target;
  for (std::size_t t = 0; t < from.scales.size(); ++t) {
    std::vector<double> sums{blocks.front().values.front()};
    for (std::size_t block = 1; block < blocks.size(); ++block) {
      sums.push_back(blocks[block].values[t] / static_cast<double>(kLossUnits));
    }
    by_target.push_back(estimate_numbers(sums, sigmas, from.scales[t], from.level));
  }
  const NumberFigures all = over_targets(by_target);
  const auto tell = [&](const std::string& name, Estimate NumberFigures::*figure, double most) {
    told[name] = figure_json(all.*figure, most);
    std::vector<Estimate> each;
    for (const NumberFigures& of_one : by_target) each.push_back(of_one.*figure);
    if (each.size() > 1) told[name + "_by_target"] = by_number(each, "target");
  };
  if (from.has(EvaluationMetric::kR2)) tell("r2", &NumberFigures::r2, 1.0);
  if (from.has(EvaluationMetric::kRmse)) tell("rmse", &NumberFigures::rmse, std::ranges::max(from.scales));
}

}  // namespace

NumberFigures estimate_numbers(std::span<const double> sums, std::span<const double> sigmas, double scale,
                               double level) {
  DPREDUCE_ASSERT(sums.size() == kSums && sigmas.size() == kSums);
  const double rows = std::max({sums[0], 2.0 * sigmas[0], 1.0});
  const double mean = std::clamp(sums[1] / rows, -1.0, 1.0);
  const double square = std::clamp(sums[2] / rows, 0.0, 1.0);
  const double cube = std::clamp(sums[3] / rows, -1.0, 1.0);
  const double fourth = std::clamp(sums[4] / rows, 0.0, 1.0);
  const double error = std::clamp(sums[5] / rows, 0.0, 1.0);

  const Moment e = with_sampling(sums[5] / rows, std::hypot(sigmas[5], error * sigmas[0]) / rows, sums[6] / rows, rows);
  const double about_mean = fourth - 4.0 * mean * cube + 6.0 * mean * mean * square - 3.0 * mean * mean * mean * mean;
  const Moment v =
      with_sampling(square - mean * mean, std::hypot(sigmas[2], 2.0 * mean * sigmas[1], mean * mean * sigmas[0]) / rows,
                    about_mean, rows);

  const double z = two_sided_quantile(level);
  const double spread = std::max({v.value, v.noise, kLeastSpread});
  const double ratio = std::min(error / spread, 1.0 - kLeastR2);
  const auto [least, most] = ratio_interval(e, v, z);
  return {.r2 = {1.0 - ratio, 1.0 - most, 1.0 - least, std::hypot(e.noise, ratio * v.noise) / spread,
                 (most - least) / (2.0 * z)},
          .rmse = root_of(e, scale, z)};
}

NumberFigures over_targets(const std::vector<NumberFigures>& targets) {
  DPREDUCE_ASSERT(!targets.empty());
  const auto count = static_cast<double>(targets.size());
  NumberFigures all{};
  for (const NumberFigures& of_one : targets) {
    for (double Estimate::*end : {&Estimate::value, &Estimate::low, &Estimate::high}) {
      all.r2.*end += of_one.r2.*end / count;
      all.rmse.*end = std::hypot(all.rmse.*end, of_one.rmse.*end / std::sqrt(count));
    }
    all.r2.deviation += of_one.r2.deviation / count;
    all.r2.noise = std::hypot(all.r2.noise, of_one.r2.noise / count);
  }
  for (const NumberFigures& of_one : targets) {
    const double slope = all.rmse.value > 0.0 ? of_one.rmse.value / (count * all.rmse.value) : 1.0 / count;
    all.rmse.deviation += slope * of_one.rmse.deviation;
    all.rmse.noise = std::hypot(all.rmse.noise, slope * of_one.rmse.noise);
  }
  return all;
}

extern constinit const MetricEntry numbers_entry{declare_numbers, tell_numbers};

}  // namespace dpreduce
