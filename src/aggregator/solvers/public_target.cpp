#include "aggregator/solvers/public_target.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "aggregator/solvers/gram_spectrum.hpp"
#include "common/base/error.hpp"
#include "common/plan/triangle.hpp"

namespace dpreduce {
namespace {

constexpr double kNoiseLeft = 0.2;  // of s; .1 and .3 are within a point

double trace_of(const std::vector<double>& matrix, std::size_t dim) {
  double trace = 0.0;
  for (std::size_t a = 0; a < dim; ++a) trace += matrix[a * dim + a];
  return trace;
}

// T, d x d, of which the upper triangle is used.
std::vector<double> target_of(const ReleasedBlock& of_public, double trace, const Lattice& lattice) {
  const std::size_t dim = lattice.dim;
  const auto d = static_cast<double>(dim);
  std::vector<double> target = gram_in_units(of_public, lattice);
  const double one_row = lattice.clip_norm * lattice.clip_norm;
  const double public_trace = std::max(trace_of(target, dim), one_row);
  double squares = 0.0;
  for (std::size_t a = 0; a < dim; ++a) {
    for (std::size_t b = a; b < dim; ++b) {
      double& entry = target[a * dim + b];
      entry /= public_trace;
      squares += (a == b ? 1.0 : 2.0) * entry * entry;
    }
  }
  const double unknown = std::max(1.0 - squares, 0.0) * one_row / public_trace;
  const double uneven = squares - 1.0 / d;
  const double identity = uneven > unknown ? unknown / uneven : 1.0;
  for (double& entry : target) entry *= trace * (1.0 - identity);
  for (std::size_t a = 0; a < dim; ++a) target[a * dim + a] += trace * identity / d;
  return target;
}

}  // namespace

ReleasedBlock gram_about_public(const ReleasedBlock& gram, const ReleasedBlock& of_public, const Lattice& lattice) {
  if (gram.sigma() == 0.0) return gram;
  const std::size_t dim = lattice.dim;
  const double unit = lattice.scale() * lattice.scale();
  const double sigma = gram.sigma() / unit;
  std::vector<double> difference = gram_in_units(gram, lattice);
  const double trace = std::max(trace_of(difference, dim), sigma * std::sqrt(static_cast<double>(dim)));
  const std::vector<double> target = target_of(of_public, trace, lattice);
  for (std::size_t e = 0; e < difference.size(); ++e) difference[e] -= target[e];
  const GramSpectrum spectrum(std::move(difference), sigma);
  std::vector<double> identity(dim * dim, 0.0);
  for (std::size_t a = 0; a < dim; ++a) identity[a * dim + a] = 1.0;
  const std::vector<double> cleaned = spectrum.rows_of(spectrum.coordinates(identity), spectrum.signed_eigenvalues());
  std::vector<std::int64_t> values(triangle_elements(dim));
  for (std::size_t a = 0; a < dim; ++a) {
    for (std::size_t b = a; b < dim; ++b) {
      values[triangle_row(a, dim) + b - a] = std::llround((target[a * dim + b] + cleaned[a * dim + b]) * unit);
    }
  }
  return {gram.name(), std::move(values), kNoiseLeft * gram.sigma()};
}

}  // namespace dpreduce
