#include "aggregator/solvers/shrunk_means.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/lattice/row_transform.hpp"

namespace dpreduce {
namespace {

// max(0, 1 - p s^2 / |v|^2), 0 for v = 0.
double kept_share(std::span<const double> v, double degrees, double sigma) {
  const double energy = squared_norm(v);
  return energy > 0.0 ? std::max(0.0, 1.0 - degrees * sigma * sigma / energy) : 0.0;
}

}  // namespace

std::vector<double> solve_center(const Release& release, const Lattice& lattice) {
  const ReleasedBlock& sum = release.block("row_sum");
  const ReleasedBlock& rows = release.block("row_count");
  std::vector<double> center(sum.values().begin(), sum.values().end());
  const double kept = kept_share(center, static_cast<double>(center.size()), sum.sigma());
  const double count = std::max({static_cast<double>(rows.values().front()), rows.sigma(), 1.0});
  for (double& entry : center) entry = entry * kept / (lattice.scale() * count);
  const double length = std::sqrt(squared_norm(center));
  if (length > lattice.clip_norm) {
    for (double& entry : center) entry *= lattice.clip_norm / length;
  }
  return center;
}

std::vector<double> solve_class_sizes(const ReleasedBlock& class_counts) {
  std::vector<double> sizes(class_counts.values().begin(), class_counts.values().end());
  const auto classes = static_cast<double>(sizes.size());
  const double mean = std::accumulate(sizes.begin(), sizes.end(), 0.0) / classes;
  for (double& size : sizes) size -= mean;
  const double kept = kept_share(sizes, classes - 1.0, class_counts.sigma());
  for (double& size : sizes) size = std::max({mean + kept * size, class_counts.sigma(), 1.0});
  return sizes;
}

}  // namespace dpreduce
