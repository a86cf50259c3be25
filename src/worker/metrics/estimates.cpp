#include "worker/metrics/estimates.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <utility>

#include <boost/math/special_functions/erf.hpp>
#include <boost/math/tools/toms748_solve.hpp>

#include "common/base/error.hpp"
#include "common/ledger/evaluation_terms.hpp"

namespace dpreduce {
namespace {

constexpr double kRounding = 0.28867513459481287;  // sqrt(1 / 12): noise is rounded to whole numbers
constexpr double kTie = 0.2;                       // of a count that each tail has more, since counts are whole numbers
constexpr double kFarthestBelow = 2.0;  // in s: a count that noise has taken further below 0 is taken to be there
constexpr double kNegligibleSkewness = 0.02;
constexpr double kFarthestTerm = 7.0;  // in deviations, of a binomial sum: beyond them is 3e-12

// Observed counts, and the law of T(p) for any p.
class Pivot {
 public:
  explicit Pivot(const NoisedCounts& counts)
      : sigma_(std::hypot(counts.sigma, kRounding)),
        right_(std::max(counts.right, -kFarthestBelow * sigma_)),
        wrong_(std::max(counts.wrong, -kFarthestBelow * sigma_)),
        rows_(std::max({std::round(right_ + wrong_), std::round(sigma_), 1.0})) {}

  double rows() const { return rows_; }
  double share() const { return std::clamp(right_ / rows_, 0.0, 1.0); }

  // The parts of alpha for T that is too large, and too small: all for one side where p is so near an end that noise
  // hides whether it is there.
  double part_above(double p) const {
    const double above = std::min(1.0, (1.0 - p) * rows_ / (2.0 * sigma_));
    const double below = std::min(1.0, p * rows_ / (2.0 * sigma_));
    return above / (above + below);
  }

  // P(T(p) >= t(p)), t what is observed, moved by that part of a count.
  double tail_above(double p, double moved) const {
    const double t = (1.0 - p) * right_ - p * wrong_ + moved * std::hypot(p, 1.0 - p);
    const double noise = sigma_ * std::hypot(p, 1.0 - p);
    const double sampling = rows_ * p * (1.0 - p);
    const double deviation = std::hypot(noise, std::sqrt(sampling));
    if (sampling * std::abs(1.0 - 2.0 * p) < kNegligibleSkewness * std::pow(deviation, 3)) {
      return normal_above(t / deviation);
    }
    return sum_above(p, t, noise);
  }

 private:
  static double normal_above(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }

  // sum_k P(Bin(n, p) = k) P(N(0, noise^2) >= t - (k - n p))
  double sum_above(double p, double t, double noise) const {
    const double mean = rows_ * p;
    const double reach = kFarthestTerm * std::sqrt(mean * (1.0 - p)) + kFarthestTerm;
    const double first = std::max(0.0, std::floor(mean - reach));
    const double last = std::min(rows_, std::ceil(mean + reach));
    double mass = std::exp(std::lgamma(rows_ + 1.0) - std::lgamma(first + 1.0) - std::lgamma(rows_ - first + 1.0) +
                           first * std::log(p) + (rows_ - first) * std::log1p(-p));
    double sum = 0.0;
    for (double k = first; k <= last; ++k) {
      sum += mass * normal_above((t - (k - mean)) / noise);
      mass *= (rows_ - k) / (k + 1.0) * p / (1.0 - p);
    }
    return sum;
  }

  double sigma_;
  double right_;
  double wrong_;
  double rows_;
};

// Point on the way from `inside`, where `excess` is above 0, to `end`, at which it comes to 0; `end` where it does not.
// To 9 digits, in some ten values: each is a sum of many terms.
template <typename Excess>
double end_of(double inside, double end, const Excess& excess) {
  const double at_end = excess(end);
  if (at_end > 0.0) return end;
  const double at_inside = excess(inside);
  if (at_inside <= 0.0) return inside;
  const bool is_upper = end > inside;
  constexpr int kBits = 30;
  std::uintmax_t most = 60;
  const auto [low, high] = boost::math::tools::toms748_solve(
      excess, std::min(inside, end), std::max(inside, end), is_upper ? at_inside : at_end,
      is_upper ? at_end : at_inside, boost::math::tools::eps_tolerance<double>(kBits), most);
  return 0.5 * (low + high);
}

// Mean excess of |d + e| over |d|, e ~ N(0, v^2).
double bias_of_absolute(double d, double v) {
  return v * std::sqrt(2.0 / std::numbers::pi) * std::exp(-0.5 * d * d / (v * v)) -
         d * std::erfc(d / (v * std::numbers::sqrt2));
}

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

}  // namespace

double two_sided_quantile(double level) {
  return std::numbers::sqrt2 * boost::math::erf_inv(level);
}

Estimate estimate_share(const NoisedCounts& counts, double level) {
  DPREDUCE_ASSERT(level > 0.0 && level < 1.0 && counts.sigma >= 0.0);
  const Pivot pivot(counts);
  const double alpha = 1.0 - level;
  const double share = pivot.share();
  const double low =
      end_of(share, 0.0, [&](double p) { return pivot.tail_above(p, -kTie) - alpha * pivot.part_above(p); });
  const double high = end_of(
      share, 1.0, [&](double p) { return 1.0 - pivot.tail_above(p, kTie) - alpha * (1.0 - pivot.part_above(p)); });
  return {.value = share,
          .low = low,
          .high = high,
          .noise = std::hypot(share, 1.0 - share) * counts.sigma / pivot.rows(),
          .deviation = 0.5 * (high - low) / two_sided_quantile(level)};
}

Estimate normal_estimate(double value, double noise, double sampling, std::pair<double, double> range, double level) {
  const double deviation = std::hypot(noise, std::sqrt(sampling));
  const double reach = two_sided_quantile(level) * deviation;
  return {value, std::max(value - reach, range.first), std::min(value + reach, range.second), noise, deviation};
}

Estimate estimate_mean(double sum, double sum_sigma, double rows, double rows_sigma, double most, double level) {
  const double about = std::max({rows, rows_sigma, 1.0});
  const double mean = std::clamp(sum / about, 0.0, most);
  const double noise = std::hypot(sum_sigma, mean * rows_sigma) / about;
  return normal_estimate(mean, noise, mean * (most - mean) / about, {0.0, most}, level);
}

std::vector<Estimate> shares_of(const std::vector<NoisedCounts>& counts, double level) {
  std::vector<Estimate> shares;
  for (const NoisedCounts& each : counts) shares.push_back(estimate_share(each, level));
  return shares;
}

Estimate mean_of(const std::vector<Estimate>& estimates, double level) {
  const auto count = static_cast<double>(estimates.size());
  Estimate mean{};
  double noise = 0.0;
  double squared_below = 0.0;
  double squared_above = 0.0;
  double below = 0.0;
  double above = 0.0;
  for (const Estimate& estimate : estimates) {
    const double biased = std::pow(estimate.high - estimate.low, 2);
    mean.value += estimate.value / count;
    noise += estimate.noise * estimate.noise;
    squared_below += std::pow((1.0 - biased) * (estimate.value - estimate.low), 2);
    squared_above += std::pow((1.0 - biased) * (estimate.high - estimate.value), 2);
    below += biased * (estimate.value - estimate.low);
    above += biased * (estimate.high - estimate.value);
  }
  mean.noise = std::sqrt(noise) / count;
  mean.low = std::max(mean.value - (std::sqrt(squared_below) + below) / count, 0.0);
  mean.high = std::min(mean.value + (std::sqrt(squared_above) + above) / count, 1.0);
  mean.deviation = 0.5 * (mean.high - mean.low) / two_sided_quantile(level);
  return mean;
}

Estimate f1_of(const Estimate& share) {
  const auto f1 = [](double p) { return 2.0 * p / (1.0 + p); };
  const double slope = 2.0 / std::pow(1.0 + share.value, 2);
  return {f1(share.value), f1(share.low), f1(share.high), slope * share.noise, slope * share.deviation};
}

Estimate estimate_largest_gap(const std::vector<NoisedCounts>& counts, double level) {
  DPREDUCE_ASSERT(counts.size() > 1);
  const std::vector<Estimate> shares = shares_of(counts, std::pow(level, 1.0 / static_cast<double>(counts.size())));
  const auto [least, most] = std::ranges::minmax_element(shares, {}, &Estimate::value);
  const double low =
      std::ranges::max(shares, {}, &Estimate::low).low - std::ranges::min(shares, {}, &Estimate::high).high;
  const double high =
      std::ranges::max(shares, {}, &Estimate::high).high - std::ranges::min(shares, {}, &Estimate::low).low;
  return {most->value - least->value, std::max(low, 0.0), high, std::hypot(most->noise, least->noise),
          std::hypot(most->deviation, least->deviation)};
}

Estimate estimate_difference(const std::vector<double>& counts, double sigma, double level) {
  DPREDUCE_ASSERT(counts.size() == 4);
  const double about = std::max({std::accumulate(counts.begin(), counts.end(), 0.0), 2.0 * sigma, 1.0});
  const double difference = std::clamp((counts[1] - counts[2]) / about, -1.0, 1.0);
  const double differing = std::clamp((counts[1] + counts[2] + 1.0) / about, difference * difference, 1.0);
  const double noise = sigma * std::sqrt(2.0 + 4.0 * difference * difference) / about;
  return normal_estimate(difference, noise, (differing - difference * difference) / about, {-1.0, 1.0}, level);
}

Estimate estimate_calibration_error(const std::vector<double>& gaps, double sigma, const std::vector<double>& bin_rows,
                                    double rows, double level) {
  DPREDUCE_ASSERT(gaps.size() == bin_rows.size());
  std::vector<double> rows_of_bins;  // n_b
  std::vector<double> deviations;    // v_b
  double raw = 0.0;
  double low = 0.0;
  double high = 0.0;
  double variance = 0.0;
  for (std::size_t bin = 0; bin < gaps.size(); ++bin) {
    const double d = std::abs(gaps[bin]);
    const double p = (static_cast<double>(bin) + 0.5) / static_cast<double>(gaps.size());
    rows_of_bins.push_back(std::max(bin_rows[bin], 0.0));
    const double v = std::max(std::hypot(sigma, std::sqrt(rows_of_bins.back() * p * (1.0 - p))), 1e-9);
    deviations.push_back(v);
    raw += d;
    low += std::max(d - bias_of_absolute(0.0, v), 0.0);
    high += d - std::max(bias_of_absolute(d, v), 0.0);
    variance += v * v;
  }
  // Mean of sum_b |d_b| where each bin is off by e n_b.
  const auto expected = [&](double e) {
    double sum = 0.0;
    for (std::size_t bin = 0; bin < gaps.size(); ++bin) {
      sum += e * rows_of_bins[bin] + bias_of_absolute(e * rows_of_bins[bin], deviations[bin]);
    }
    return sum;
  };
  double value = 0.0;
  double most = 1.0;
  constexpr int kHalvings = 40;
  for (int step = 0; step < kHalvings; ++step) {
    const double e = 0.5 * (value + most);
    (expected(e) < raw ? value : most) = e;
  }
  const double about = std::max(rows, 1.0);
  const double reach = two_sided_quantile(level) * std::sqrt(variance) / about;
  const double lower = std::clamp(low / about - reach, 0.0, 1.0);
  const double upper = std::clamp(high / about + reach, 0.0, 1.0);
  return {std::clamp(value, lower, upper), lower, upper, sigma * std::sqrt(static_cast<double>(gaps.size())) / about,
          std::sqrt(variance) / about};
}

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

}  // namespace dpreduce
