// Closed forms of delta(epsilon) of one use of each mechanism, and delta of a discrete law, for comparison.
#pragma once

#include <cmath>

#include "common/accounting/loss_grid.hpp"
#include "common/accounting/mechanism.hpp"

namespace dpreduce {

inline double standard_normal_cdf(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}

/// Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)
inline double gaussian_delta(double epsilon, double mu) {
  return standard_normal_cdf(mu / 2 - epsilon / mu) - std::exp(epsilon) * standard_normal_cdf(-mu / 2 - epsilon / mu);
}

/// Remove: (1-q) N(0,1) + q N(mu,1) against N(0,1), in terms of the Gaussian pair at a threshold of its own:
///   H_q(K) = q H_1(1 + (K-1)/q) for K > 1 - q. Add: K H_q(1/K) + 1 - K. Good to about 1e-14 absolute.
inline double sampled_gaussian_delta(double z, double q, double epsilon, Direction direction) {
  const double mu = 1 / z;
  const auto removed = [&](double log_threshold) {
    const double excess = std::expm1(log_threshold) / q;
    if (excess <= -1) return -std::expm1(log_threshold);
    return q * gaussian_delta(std::log1p(excess), mu);
  };
  if (direction == Direction::kRemove) return removed(epsilon);
  return std::exp(epsilon) * removed(-epsilon) - std::expm1(epsilon);
}

/// (e^(E/2) - e^(epsilon/2))^2 / (e^E - 1), E the range of an exponential mechanism's log probabilities.
inline double selection_delta(double range, double epsilon) {
  const double gap = -std::expm1((epsilon - range) / 2);
  return epsilon < range ? gap * gap / -std::expm1(-range) : 0.0;
}

inline double randomized_response_delta(double range, double epsilon) {
  return epsilon < range ? (std::exp(range) - std::exp(epsilon)) / (1 + std::exp(range)) : 0.0;
}

/// E_P[(1 - e^(epsilon - L))+] of a law on a grid, infinite losses included.
inline double grid_delta(const LossGrid& grid, double epsilon) {
  double sum = grid.infinite_mass;
  for (std::size_t index = 0; index < grid.mass.size(); ++index) {
    const double loss = loss_at(grid, index);
    if (loss > epsilon) sum += grid.mass[index] * -std::expm1(epsilon - loss);
  }
  return sum;
}

}  // namespace dpreduce
