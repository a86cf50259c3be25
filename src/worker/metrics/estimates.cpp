#include "worker/metrics/estimates.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>

#include <boost/math/special_functions/erf.hpp>
#include <boost/math/tools/toms748_solve.hpp>

#include "common/base/error.hpp"

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

Estimate estimate_mean(double sum, double sum_sigma, double rows, double rows_sigma, double most, double level) {
  const double about = std::max({rows, rows_sigma, 1.0});
  const double mean = std::clamp(sum / about, 0.0, most);
  const double noise = std::hypot(sum_sigma, mean * rows_sigma) / about;
  const double deviation = std::hypot(noise, std::sqrt(mean * (most - mean) / about));
  const double reach = two_sided_quantile(level) * deviation;
  return {mean, std::max(mean - reach, 0.0), std::min(mean + reach, most), noise, deviation};
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
  const double deviation = std::hypot(noise, std::sqrt((differing - difference * difference) / about));
  const double reach = two_sided_quantile(level) * deviation;
  return {difference, std::max(difference - reach, -1.0), std::min(difference + reach, 1.0), noise, deviation};
}

}  // namespace dpreduce
