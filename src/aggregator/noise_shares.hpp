// Noise that no single party adds: each silo its share.
//
//     s      the planned standard deviation of a block's noise
//     T, c   silos that stay at least; those of them that may show the coordinator their shares
//     s_i    = max(s / sqrt(T - c), 4), rounded up: of one silo's exactly rounded Gaussian
//
// The shares of h >= T - c honest silos sum to round(N(0, h s_i^2) + uniforms), but for a distance of 2 h exp(-2 pi^2
// s_i^2 (1 - 1/h)) a coordinate, below 1e-60 for s_i >= 4: a post-processing of the Gaussian mechanism with noise
// sqrt(h) s_i >= s. So what is charged for s holds against the coordinator and c silos; against all others more is
// added than that: |U3| shares, of all that were summed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "dpreduce/privacy/noise_plan.hpp"

namespace dpreduce {

/// Below it the sum of rounded Gaussians is not yet as good as the rounded sum.
inline constexpr double kSmallestShareSigma = 4.0;

struct NoiseShares {
  std::uint32_t honest = 1;  ///< T - c >= 1

  /// s_i.
  double share_sigma(double sigma) const {
    const double share = sigma / std::sqrt(static_cast<double>(honest));
    return std::max(kSmallestShareSigma, share * (1.0 + 4.0 * std::numeric_limits<double>::epsilon()));
  }
  /// The block with s_i in the place of s.
  PlannedBlock share_of(PlannedBlock block) const {
    block.sigma = share_sigma(block.sigma);
    return block;
  }
};

}  // namespace dpreduce
