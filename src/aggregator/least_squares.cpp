#include "dpreduce/aggregator/least_squares.hpp"

#include <algorithm>

#include "dpreduce/aggregator/gram_spectrum.hpp"

namespace dpreduce {

std::vector<double> in_units(const ReleasedBlock& block, double unit) {
  std::vector<double> values(block.values().size());
  std::transform(block.values().begin(), block.values().end(), values.begin(),
                 [unit](std::int64_t value) { return static_cast<double>(value) / unit; });
  return values;
}

std::vector<double> solve_least_squares(const Release& release, const Lattice& lattice, double ridge_in_radii) {
  const GramSpectrum gram(release.block("gram"), lattice);
  std::vector<double> weights = in_units(release.block("class_sums"), lattice.scale());
  gram.solve(weights, ridge_in_radii * gram.noise_radius() + lattice.clip_norm * lattice.clip_norm);
  return weights;
}

}  // namespace dpreduce
