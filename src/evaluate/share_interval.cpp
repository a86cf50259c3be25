#include "evaluate/share_interval.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <boost/math/special_functions/erf.hpp>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr double kDeviationsOfNoise = 6.0;
constexpr double kMostCountsInEach = 160.0;
constexpr int kPoints = 300;
constexpr double kMany = 200.0;
constexpr double kManyDeviations = 30.0;

// Every so many counts are looked at: a quarter of the noise, and a third of what sampling moves counts by.
double step_between(const NoisedCounts& counts) {
  const double rows = std::max(counts.right + counts.wrong, 0.0);
  return std::max(1.0, std::floor(std::min(counts.sigma / 4.0, std::sqrt(rows) / 3.0)));
}

// Counts within 6 s of the released one.
std::vector<double> possible_counts(double released, double sigma, double step) {
  const double first = std::max(0.0, std::floor(released - kDeviationsOfNoise * sigma));
  const double last = std::max(first, std::ceil(released + kDeviationsOfNoise * sigma));
  step = std::max(step, std::ceil((last - first) / kMostCountsInEach));
  std::vector<double> counts;
  for (double count = first; count <= last; count += step) counts.push_back(count);
  return counts;
}

// log C(R + W, R) - ((r - R)^2 + (w - W)^2) / (2 s^2) of all pairs.
struct WeighedPair {
  double right;
  double wrong;
  double log_weight;
};

std::vector<WeighedPair> weighed_pairs(const NoisedCounts& counts) {
  const double sigma = std::max(counts.sigma, 1e-3);
  std::vector<WeighedPair> pairs;
  const double step = step_between(counts);
  for (const double right : possible_counts(counts.right, sigma, step)) {
    for (const double wrong : possible_counts(counts.wrong, sigma, step)) {
      const double off = std::hypot(counts.right - right, counts.wrong - wrong) / sigma;
      pairs.push_back(
          {right, wrong,
           std::lgamma(right + wrong + 1.0) - std::lgamma(right + 1.0) - std::lgamma(wrong + 1.0) - 0.5 * off * off});
    }
  }
  return pairs;
}

// Where theta may lie: p within 10 deviations of what was released.
std::pair<double, double> range_of_theta(const NoisedCounts& counts) {
  const double rows = std::max(counts.right + counts.wrong, 1.0);
  const double share = std::clamp(counts.right / rows, 0.0, 1.0);
  const double reach = 10.0 * (std::sqrt(share * (1.0 - share) / rows) + 1.5 * counts.sigma / rows + 1.0 / rows);
  const auto theta = [](double p) { return std::asin(std::sqrt(std::clamp(p, 0.0, 1.0))); };
  return {theta(share - reach), theta(share + reach)};
}

// Precondition: 0 < theta < pi / 2.
double log_density(const std::vector<WeighedPair>& pairs, double theta) {
  constexpr double kNothing = 40.0;  // below the largest term, in logs
  const double log_p = 2.0 * std::log(std::sin(theta));
  const double log_q = 2.0 * std::log(std::cos(theta));
  const auto log_term = [&](const WeighedPair& pair) {
    return pair.log_weight + pair.right * log_p + pair.wrong * log_q;
  };
  double largest = -INFINITY;
  for (const WeighedPair& pair : pairs) largest = std::max(largest, log_term(pair));
  double sum = 0.0;
  for (const WeighedPair& pair : pairs) {
    const double below = log_term(pair) - largest;
    if (below > -kNothing) sum += std::exp(below);
  }
  return largest + std::log(sum);
}

// The theta below which there is that share of `mass`, one entry a cell of thetas.
double quantile(const std::vector<double>& thetas, const std::vector<double>& mass, double share) {
  double below = 0.0;
  for (std::size_t cell = 0; cell < mass.size(); ++cell) {
    if (below + mass[cell] >= share) {
      const double part = mass[cell] > 0.0 ? (share - below) / mass[cell] : 0.0;
      return thetas[cell] + part * (thetas[cell + 1] - thetas[cell]);
    }
    below += mass[cell];
  }
  return thetas.back();
}

// Where both counts are large, theta's posterior is normal.
Estimate estimate_of_many(const NoisedCounts& counts, double level) {
  const double rows = counts.right + counts.wrong;
  const double share = counts.right / rows;
  const double noise = std::hypot(share, 1.0 - share) * counts.sigma / rows;
  const double deviation = std::hypot(noise, std::sqrt(share * (1.0 - share) / rows));
  const double reach = two_sided_quantile(level) * deviation;
  return {share, share - reach, share + reach, noise, deviation};
}

}  // namespace

double two_sided_quantile(double level) {
  return std::numbers::sqrt2 * boost::math::erf_inv(level);
}

Estimate estimate_share(const NoisedCounts& counts, double level) {
  DPREDUCE_ASSERT(level > 0.0 && level < 1.0 && counts.sigma >= 0.0);
  if (std::min(counts.right, counts.wrong) >= kMany + kManyDeviations * counts.sigma) {
    return estimate_of_many(counts, level);
  }
  const std::vector<WeighedPair> pairs = weighed_pairs(counts);
  const auto [first, last] = range_of_theta(counts);
  std::vector<double> thetas;
  std::vector<double> mass;  // of the cell between two neighbors: the density at its middle
  double largest = -INFINITY;
  for (int point = 0; point <= kPoints; ++point) {
    thetas.push_back(first + (last - first) * point / kPoints);
    if (point == 0) continue;
    mass.push_back(log_density(pairs, 0.5 * (thetas[thetas.size() - 2] + thetas.back())));
    largest = std::max(largest, mass.back());
  }
  double total = 0.0;
  for (double& entry : mass) total += entry = std::exp(entry - largest);
  double mean = 0.0;
  double square = 0.0;
  for (std::size_t cell = 0; cell < mass.size(); ++cell) {
    mass[cell] /= total;
    const double p = std::pow(std::sin(0.5 * (thetas[cell] + thetas[cell + 1])), 2);
    mean += mass[cell] * p;
    square += mass[cell] * p * p;
  }
  const auto share_at = [&](double part) { return std::pow(std::sin(quantile(thetas, mass, part)), 2); };
  const double rows = std::max(counts.right + counts.wrong, 1.0);
  return {.value = mean,
          .low = share_at(0.5 - 0.5 * level),
          .high = share_at(0.5 + 0.5 * level),
          .noise = std::hypot(mean, 1.0 - mean) * counts.sigma / rows,
          .deviation = std::sqrt(std::max(square - mean * mean, 0.0))};
}

Estimate estimate_mean(double sum, double sum_sigma, double rows, double rows_sigma, double most, double level) {
  const double about = std::max({rows, rows_sigma, 1.0});
  const double mean = std::clamp(sum / about, 0.0, most);
  const double noise = std::hypot(sum_sigma, mean * rows_sigma) / about;
  const double deviation = std::hypot(noise, std::sqrt(mean * (most - mean) / about));
  const double reach = two_sided_quantile(level) * deviation;
  return {mean, std::max(mean - reach, 0.0), std::min(mean + reach, most), noise, deviation};
}

}  // namespace dpreduce
