#include "aggregator/solvers/least_squares.hpp"

#include <algorithm>

#include "aggregator/solvers/exact_ridge.hpp"
#include "aggregator/solvers/gram_spectrum.hpp"

namespace dpreduce {

std::vector<double> in_units(const ReleasedBlock& block, double unit) {
  std::vector<double> values(block.values().size());
  std::transform(block.values().begin(), block.values().end(), values.begin(),
                 [unit](std::int64_t value) { return static_cast<double>(value) / unit; });
  return values;
}

std::vector<std::vector<double>> solve_least_squares(const Release& release, const Lattice& lattice,
                                                     double ridge_in_radii, std::span<const double> factors) {
  const ReleasedBlock& gram = release.block("gram");
  const std::vector<double> class_sums = in_units(release.block("class_sums"), lattice.scale());
  std::vector<std::vector<double>> solutions(factors.size(), class_sums);
  const double one_row = lattice.clip_norm * lattice.clip_norm;
  if (gram.sigma() == 0.0) {
    for (std::size_t m = 0; m < factors.size(); ++m) {
      std::vector<double> matrix = gram_in_units(gram, lattice);
      solve_exact_ridge(matrix, factors[m] * one_row, solutions[m]);
    }
    return solutions;
  }
  const GramSpectrum spectrum(gram, lattice);
  const double ridge = ridge_in_radii * spectrum.noise_radius() + one_row;
  for (std::size_t m = 0; m < factors.size(); ++m) spectrum.solve(solutions[m], factors[m] * ridge);
  return solutions;
}

}  // namespace dpreduce
