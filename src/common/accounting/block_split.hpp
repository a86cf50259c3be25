// The noise of several blocks under one budget, for sensitivities in any unit.
//
//   s_b   noise standard deviation on each number of block b
//   D_b   L2 sensitivity of block b; one record may move all blocks at once
//   W_b   loss weight: how much the loss grows per unit of s_b^2; (numbers in the block) x (loss per number)
//
// noise_plan.hpp does the same for the statistics of a run, whose sensitivities are integers with several profiles.
#pragma once

#include <span>
#include <vector>

namespace dpreduce {

struct WeightedBlock {
  double sensitivity;
  double loss_weight;
};

struct NoiseOfBlock {
  double sigma;         ///< rounded up
  double variance;      ///< sigma^2, rounded up
  double share_of_mu2;  ///< D_b^2 / (sigma^2 mu^2); their sum is at most 1, up to the rounding of this figure
};

/// The noise that minimizes sum_b W_b s_b^2 subject to sum_b D_b^2 / s_b^2 <= mu^2, by Lagrange
///   s_b^2 = (D_b / sqrt(W_b)) (sum_j D_j sqrt(W_j)) / mu^2,
/// so that the block's share of mu^2 is D_b sqrt(W_b) / sum_j D_j sqrt(W_j). Computed with 50 digits; every sigma is
/// rounded up, so that the constraint holds for the doubles returned. Preconditions: some block; every D_b and W_b > 0
/// and finite; kSmallestMu <= mu <= kLargestMu; every s_b a finite double. Throws UsageError naming the argument and
/// its value.
std::vector<NoiseOfBlock> split_blocks(std::span<const WeightedBlock> blocks, double mu);

}  // namespace dpreduce
