#include "common/plan/noise_split.hpp"

#include <algorithm>
#include <cstddef>

namespace dpreduce {
namespace {

const HighPrecision kOptimalityGap("1e-25");
const HighPrecision kShareTolerance("1e-38");
constexpr int kMaxTransfers = 100;
constexpr int kRescalings = 20;      // after each transfer
constexpr int kMaxBisections = 400;  // shares down to 2^-270

using Vector = std::vector<HighPrecision>;

class SplitProblem {
 public:
  SplitProblem(std::span<const double> weights, const std::vector<SensitivityProfile>& profiles)
      : weights_(weights.begin(), weights.end()) {
    for (const SensitivityProfile& profile : profiles) {
      squared_.emplace_back(profile.squared_l2.begin(), profile.squared_l2.end());
    }
  }

  std::size_t profiles() const { return squared_.size(); }

  // Whether c_b > 0 for every block.
  bool covers_all(const Vector& theta) const {
    for (std::size_t block = 0; block < weights_.size(); ++block) {
      if (!(mixed(theta, block) > 0)) return false;
    }
    return true;
  }

  // sqrt(W_b / c_b): the precisions, up to a common factor.
  Vector direction(const Vector& theta) const {
    Vector result;
    for (std::size_t block = 0; block < weights_.size(); ++block) {
      result.push_back(sqrt(weights_[block] / mixed(theta, block)));
    }
    return result;
  }

  // u_p = sum_b D_pb^2 x_b for every profile.
  Vector uses(const Vector& precisions) const {
    Vector result;
    for (const Vector& squared : squared_) {
      HighPrecision use = 0;
      for (std::size_t block = 0; block < squared.size(); ++block) use += squared[block] * precisions[block];
      result.push_back(use);
    }
    return result;
  }

 private:
  // c_b = sum_p theta_p D_pb^2.
  HighPrecision mixed(const Vector& theta, std::size_t block) const {
    HighPrecision sum = 0;
    for (std::size_t profile = 0; profile < squared_.size(); ++profile) {
      sum += theta[profile] * squared_[profile][block];
    }
    return sum;
  }

  Vector weights_;
  std::vector<Vector> squared_;  // [profile][block]
};

// Moves weight from one profile to another until both use the same, or the giver has none left.
void transfer(const SplitProblem& problem, Vector& theta, std::size_t giver, std::size_t taker) {
  const HighPrecision total = theta[giver] + theta[taker];
  HighPrecision keep_low = 0;
  HighPrecision keep_high = theta[giver];
  for (int step = 0; step < kMaxBisections && keep_high - keep_low > kShareTolerance * keep_high; ++step) {
    theta[giver] = (keep_low + keep_high) / 2;
    theta[taker] = total - theta[giver];
    const Vector use = problem.uses(problem.direction(theta));
    (use[taker] > use[giver] ? keep_high : keep_low) = theta[giver];
  }
  // A block that only the giver moves needs some of its weight, however little.
  theta[giver] = keep_low;
  theta[taker] = total - theta[giver];
  if (problem.covers_all(theta)) return;
  theta[giver] = keep_high;
  theta[taker] = total - theta[giver];
}

// theta_p <- theta_p u_p / A, which never lowers A (Cover's update) and sets many small shares right at once, where
// transfers between pairs would go in circles.
void rescale(const SplitProblem& problem, Vector& theta) {
  const Vector use = problem.uses(problem.direction(theta));
  HighPrecision sum = 0;
  for (std::size_t profile = 0; profile < theta.size(); ++profile) sum += theta[profile] *= use[profile];
  for (HighPrecision& share : theta) share /= sum;
}

}  // namespace

std::vector<HighPrecision> split_precision(std::span<const double> weights,
                                           const std::vector<SensitivityProfile>& profiles,
                                           const HighPrecision& squared_mu) {
  const SplitProblem problem(weights, profiles);
  Vector theta(problem.profiles(), HighPrecision(1) / problem.profiles());
  Vector precisions = problem.direction(theta);
  Vector use = problem.uses(precisions);
  for (int step = 0; step < kMaxTransfers && problem.profiles() > 1; ++step) {
    std::size_t taker = 0;
    std::size_t giver = problem.profiles();
    HighPrecision mixed_use = 0;  // sum_p theta_p u_p = A(theta)
    for (std::size_t profile = 0; profile < problem.profiles(); ++profile) {
      mixed_use += theta[profile] * use[profile];
      if (use[profile] > use[taker]) taker = profile;
      if (theta[profile] > 0 && (giver == problem.profiles() || use[profile] < use[giver])) giver = profile;
    }
    if (use[taker] <= mixed_use * (1 + kOptimalityGap)) break;
    transfer(problem, theta, giver, taker);
    for (int repeat = 0; repeat < kRescalings && problem.profiles() > 2; ++repeat) rescale(problem, theta);
    precisions = problem.direction(theta);
    use = problem.uses(precisions);
  }
  const HighPrecision scale = squared_mu / *std::max_element(use.begin(), use.end());
  for (HighPrecision& precision : precisions) precision *= scale;
  return precisions;
}

}  // namespace dpreduce
