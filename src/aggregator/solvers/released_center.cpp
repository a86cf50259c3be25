#include "aggregator/solvers/released_center.hpp"

#include <algorithm>
#include <cmath>

#include "common/lattice/row_transform.hpp"

namespace dpreduce {

std::vector<double> solve_center(const Release& release, const Lattice& lattice) {
  const ReleasedBlock& sum = release.block("row_sum");
  const ReleasedBlock& rows = release.block("row_count");
  std::vector<double> center(sum.values().begin(), sum.values().end());
  const double energy = squared_norm(center);
  if (energy == 0.0) return center;
  const double noise_energy = static_cast<double>(center.size()) * sum.sigma() * sum.sigma();
  const double kept = std::max(0.0, 1.0 - noise_energy / energy);
  const double count = std::max({static_cast<double>(rows.values().front()), rows.sigma(), 1.0});
  for (double& entry : center) entry = entry * kept / (lattice.scale() * count);
  const double length = std::sqrt(squared_norm(center));
  if (length > lattice.clip_norm) {
    for (double& entry : center) entry *= lattice.clip_norm / length;
  }
  return center;
}

}  // namespace dpreduce
