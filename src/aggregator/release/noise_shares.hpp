// Distributed noise: each silo adds a share of it.
//
//     s      the planned standard deviation of a block's noise
//     T, c   silos that stay at least; those of them that may show the coordinator their shares
//     s_i    = max(s / sqrt(T - c), m), rounded up: of one silo's exactly rounded Gaussian. m = 4; of a symmetric block
//            6, since entries beside the diagonal have s_i / sqrt(2), which must be 4 at least as well
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
#include <optional>

#include "common/ledger/noise_plan.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// The smallest share for which the bound above holds, so that a sum of rounded Gaussians equals a rounded sum up to
/// that distance.
inline constexpr double kSmallestShareSigma = 4.0;
/// The same for the diagonal of a symmetric block: more than sqrt(2) times that.
inline constexpr double kSmallestDiagonalShareSigma = 6.0;

struct NoiseShares {
  std::uint32_t honest = 1;  ///< T - c >= 1

  /// s_i of a block of that noise.
  double share_sigma(double sigma, BlockNoise noise = BlockNoise::kEqual) const {
    const double smallest = noise == BlockNoise::kSymmetric ? kSmallestDiagonalShareSigma : kSmallestShareSigma;
    const double share = sigma / std::sqrt(static_cast<double>(honest));
    return std::max(smallest, share * (1.0 + 4.0 * std::numeric_limits<double>::epsilon()));
  }
  /// The block with s_i in the place of s.
  PlannedBlock share_of(PlannedBlock block) const {
    block.sigma = share_sigma(block.sigma, block.noise);
    return block;
  }
  /// Plan with the noise that T - c shares guarantee, for any claimed number of silos: each block's sigma is sqrt(T -
  /// c) s_i, if that exceeds s, and mu follows from it. Its shares are those of `plan`.
  NoisePlan guaranteed(NoisePlan plan) const;
};

/// Standard deviation of the noise in the sum of a block that the coordinator of `ranks` has just made. Where silos add
/// `shares`, it is more than planned as long as none dropped out, so that what is cleaned of its noise is cleaned of
/// all of it. At other ranks: as planned.
double sigma_of_sum(const PlannedBlock& block, const std::optional<NoiseShares>& shares, const Communicator& ranks);

}  // namespace dpreduce
