#include "common/accounting/block_split.hpp"

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"

namespace dpreduce {
namespace {}  // namespace

std::vector<NoiseOfBlock> split_blocks(std::span<const WeightedBlock> blocks, double mu) {
  if (blocks.empty()) throw UsageError("no block to give noise to: give at least one");
  HighPrecision total = 0;  // sum_j D_j sqrt(W_j)
  for (const WeightedBlock& block : blocks) {
    require_positive("sensitivity of a block", block.sensitivity);
    require_positive("loss weight of a block", block.loss_weight);
    total += block.sensitivity * sqrt(HighPrecision(block.loss_weight));
  }
  require_between("mu", mu, kSmallestMu, kLargestMu);

  const HighPrecision squared_mu = HighPrecision(mu) * mu;
  std::vector<NoiseOfBlock> noise;
  for (const WeightedBlock& block : blocks) {
    const HighPrecision sensitivity = block.sensitivity;
    const HighPrecision variance = sensitivity / sqrt(HighPrecision(block.loss_weight)) * total / squared_mu;
    const double sigma = round_up(sqrt(variance) * (1 + kArithmeticError));
    require_positive("sigma of a block", sigma);
    const HighPrecision realized = HighPrecision(sigma) * sigma;
    noise.push_back({.sigma = sigma,
                     .variance = round_up(realized),
                     .share_of_mu2 = static_cast<double>(sensitivity * sensitivity / (realized * squared_mu))});
  }
  return noise;
}

}  // namespace dpreduce
