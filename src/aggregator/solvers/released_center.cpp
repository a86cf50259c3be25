#include "aggregator/solvers/released_center.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/error.hpp"
#include "common/lattice/row_transform.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kStepsOfNoise = 8;           // s in steps of the grid
constexpr std::size_t kReach = 6 * kStepsOfNoise;  // of K, to either side
constexpr int kLawSteps = 120;
constexpr double kLeastEvidence = 4.0;

// sum_h K((g - h) s / 8) values_h for every g of the grid.
std::vector<double> smoothed(const std::vector<double>& values, const std::vector<double>& kernel) {
  std::vector<double> sums(values.size(), 0.0);
  for (std::size_t g = 0; g < values.size(); ++g) {
    if (values[g] == 0.0) continue;
    const std::size_t first = g > kReach ? g - kReach : 0;
    const std::size_t end = std::min(g + kReach + 1, values.size());
    for (std::size_t h = first; h < end; ++h) sums[h] += values[g] * kernel[h + kReach - g];
  }
  return sums;
}

}  // namespace

std::optional<std::vector<double>> denoised(std::span<const double> noised, double noise) {
  DPREDUCE_ASSERT(noise > 0.0 && !noised.empty());
  const auto [low, high] = std::ranges::minmax(noised);
  const double step = noise / static_cast<double>(kStepsOfNoise);
  const double origin = low;
  const auto cell_of = [&](double y) { return static_cast<std::size_t>(std::llround((y - origin) / step)); };
  std::vector<double> kernel(2 * kReach + 1);
  for (std::size_t k = 0; k < kernel.size(); ++k) {
    const double t = (static_cast<double>(k) - static_cast<double>(kReach)) / static_cast<double>(kStepsOfNoise);
    kernel[k] = std::exp(-0.5 * t * t);
  }
  const std::size_t cells = cell_of(high) + 1;
  std::vector<double> held(cells, 0.0);  // share of the y in each cell
  for (const double y : noised) held[cell_of(y)] += 1.0 / static_cast<double>(noised.size());
  std::vector<double> law(cells, 1.0 / static_cast<double>(cells));
  std::vector<double> ratio(cells);
  for (int iteration = 0; iteration < kLawSteps; ++iteration) {
    const std::vector<double> density = smoothed(law, kernel);
    for (std::size_t g = 0; g < cells; ++g) ratio[g] = held[g] > 0.0 ? held[g] / density[g] : 0.0;
    const std::vector<double> growth = smoothed(ratio, kernel);
    for (std::size_t g = 0; g < cells; ++g) law[g] *= growth[g];
  }
  const std::vector<double> density = smoothed(law, kernel);
  double evidence = 0.0;
  for (std::size_t g = 0; g < cells; ++g) {
    const double deviate = (origin + step * static_cast<double>(g)) / noise;
    if (held[g] > 0.0) evidence += held[g] * (std::log(density[g]) + 0.5 * deviate * deviate);
  }
  if (evidence * static_cast<double>(noised.size()) < kLeastEvidence) return std::nullopt;
  for (std::size_t g = 0; g < cells; ++g) law[g] *= static_cast<double>(g);
  const std::vector<double> moment = smoothed(law, kernel);
  std::vector<double> means(noised.begin(), noised.end());
  for (double& y : means) y = origin + step * moment[cell_of(y)] / density[cell_of(y)];
  return means;
}

namespace {

constexpr double kRowsLongerThanUsual = 1.15;  // g
constexpr double kSmallestRadius = 0.1;        // of C
constexpr double kLargestLeft = 0.6;           // of C
constexpr std::size_t kFewestDenoised = 64;    // coordinates that show a law
constexpr double kSmallestError = 0.02;        // e / |y|^2, below which y is left alone

}  // namespace

ReleasedCenter::ReleasedCenter(const Release& release, const Lattice& lattice)
    : lattice_(lattice), weighted_(lattice.dim, 0.0), mean_(lattice.dim, 0.0), ball_center_(lattice.dim, 0.0) {
  const ReleasedBlock& rows = release.block("row_count");
  count_ = std::max({static_cast<double>(rows.values().front()), rows.sigma(), 1.0});
  add(release.block("row_sum"), lattice.scale());
}

void ReleasedCenter::add_rest(const Release& release) {
  for (double& entry : ball_center_) entry = std::round(entry * lattice_.scale()) / lattice_.scale();
  add(release.block("rest_sum"), static_cast<double>(kLatticeNorm) / radius_);
}

// `unit` lattice units of the sum are a feature unit.
void ReleasedCenter::add(const ReleasedBlock& sum, double unit) {
  const double noise = sum.sigma() / (unit * count_);
  const double weight = noise > 0.0 ? 1.0 / (noise * noise) : 1.0;
  precision_ += weight;
  for (std::size_t a = 0; a < mean_.size(); ++a) {
    weighted_[a] += weight * (ball_center_[a] + static_cast<double>(sum.values()[a]) / (unit * count_));
    mean_[a] = weighted_[a] / precision_;
  }
  const double energy = squared_norm(mean_);
  const double error = noise > 0.0 ? static_cast<double>(mean_.size()) / precision_ : 0.0;
  const double kept = energy > 0.0 ? std::max(0.0, 1.0 - error / energy) : 0.0;
  const double longest = lattice_.clip_norm;
  std::optional<std::vector<double>> by_law;
  if (mean_.size() >= kFewestDenoised && error > kSmallestError * energy) {
    by_law = denoised(mean_, 1.0 / std::sqrt(precision_));
  }
  for (std::size_t a = 0; a < mean_.size(); ++a) mean_[a] = by_law ? (*by_law)[a] : kept * mean_[a];
  scale_to_clip_norm(mean_, Normalize::kNone, longest);
  if (noise == 0.0) {
    ball_center_ = mean_;
    radius_ = 2.0 * longest;
    return;
  }
  const double left = std::max(0.0, longest * longest - std::max(0.0, energy - error));
  if (kRowsLongerThanUsual * std::sqrt(left) > kLargestLeft * longest) {
    radius_ = longest;  // all rows, about 0
  } else {
    ball_center_ = mean_;
    radius_ = std::clamp(kRowsLongerThanUsual * std::sqrt(left + kept * error), kSmallestRadius * longest, longest);
  }
}

}  // namespace dpreduce
