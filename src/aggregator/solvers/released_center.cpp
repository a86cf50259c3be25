#include "aggregator/solvers/released_center.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "aggregator/solvers/coordinate_law.hpp"
#include "common/lattice/row_transform.hpp"

namespace dpreduce {
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
  const double length = std::sqrt(squared_norm(mean_));
  if (length > longest) {
    for (double& entry : mean_) entry *= longest / length;
  }
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
