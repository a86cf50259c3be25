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

std::vector<std::vector<double>> solve_least_squares(const Release& release, const Lattice& lattice,
                                                     double ridge_in_radii, std::span<const double> factors) {
  const GramSpectrum gram(release.block("gram"), lattice);
  const double ridge = ridge_in_radii * gram.noise_radius() + lattice.clip_norm * lattice.clip_norm;
  std::vector<std::vector<double>> solutions;
  for (const double factor : factors) {
    solutions.push_back(in_units(release.block("class_sums"), lattice.scale()));
    gram.solve(solutions.back(), factor * ridge);
  }
  return solutions;
}

}  // namespace dpreduce
