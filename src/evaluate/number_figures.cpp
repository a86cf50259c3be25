#include "evaluate/number_figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "common/base/error.hpp"
#include "common/plan/evaluation_terms.hpp"

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

// From where to where E / V lies, at z standard deviations. Where V may be 0, anywhere.
std::pair<double, double> ratio_interval(const Moment& e, const Moment& v, double z) {
  const double anywhere = 1.0 - kLeastR2;
  const double a = v.value * v.value - z * z * v.deviation * v.deviation;
  if (v.value <= 0.0 || a <= 0.0) return {0.0, anywhere};
  const double middle = e.value * v.value / a;
  const double reach = z * std::hypot(e.value * v.deviation, std::sqrt(a) * e.deviation) / a;
  return {std::clamp(middle - reach, 0.0, anywhere), std::clamp(middle + reach, 0.0, anywhere)};
}

// Of a nonnegative moment, in units of targets.
Estimate root_of(const Moment& moment, double scale, double z) {
  const auto root = [&](double square) { return scale * std::sqrt(std::max(square, 0.0)); };
  const double slope = scale / (2.0 * std::sqrt(std::max(moment.value, moment.deviation)));
  return {root(moment.value), root(moment.value - z * moment.deviation), root(moment.value + z * moment.deviation),
          moment.noise > 0.0 ? slope * moment.noise : 0.0, moment.deviation > 0.0 ? slope * moment.deviation : 0.0};
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
    all.r2.value += of_one.r2.value / count;
    all.r2.low += of_one.r2.low / count;
    all.r2.high += of_one.r2.high / count;
    all.r2.deviation += of_one.r2.deviation / count;
    all.r2.noise = std::hypot(all.r2.noise, of_one.r2.noise / count);
    all.rmse.value = std::hypot(all.rmse.value, of_one.rmse.value / std::sqrt(count));
    all.rmse.low = std::hypot(all.rmse.low, of_one.rmse.low / std::sqrt(count));
    all.rmse.high = std::hypot(all.rmse.high, of_one.rmse.high / std::sqrt(count));
  }
  for (const NumberFigures& of_one : targets) {
    const double slope = all.rmse.value > 0.0 ? of_one.rmse.value / (count * all.rmse.value) : 1.0 / count;
    all.rmse.deviation += slope * of_one.rmse.deviation;
    all.rmse.noise = std::hypot(all.rmse.noise, slope * of_one.rmse.noise);
  }
  return all;
}

}  // namespace dpreduce
