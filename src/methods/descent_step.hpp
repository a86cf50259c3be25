// Step of noisy gradient descent: on the rows of all ranks, and of each silo in federated averaging.
//
//     W_t = P_R(W_(t-1) - eta_t (gradient(W_(t-1)) + noise))        P_R: the nearest W with |W|_F <= R
//
// eta_t is the user's constant, or eta_t = 1 / sqrt(h^2 + sum_(r <= t) max(|g_r|_F^2 - K d s^2, 0) / D^2). The latter
// is AdaGrad-Norm on the part of the noised gradients g_r that is not noise: the share K d s^2 of the noise is known.
// The curvature h of all future noise (gradient_rounds.hpp) replaces AdaGrad's epsilon. If noise dominates, steps are
// equal and T rounds add up to one release of class means with the whole budget. If the signal dominates, the first
// step has length D. Averaging the weights of P descents averages their noise as well: h is then that of s / sqrt(P).
//
// With an adaptive bound Z follows the rows, so that errors on small classes keep their weight beside those on large
// classes:
//
//     Z_1 = 1,  Z_(t+1) = Z_t exp(b - 0.1)    b: the released share of rows whose residual was longer than Z_t
//
// Source of the bound: [esipova2023], the algorithm of its title. Departures: all rows in every round, as without the
// bound; the share comes from the released counts of rows on both sides, while the source has a public batch size;
// 0.001 <= Z <= 2 (no residual of a softmax is longer than sqrt(2)); the step above. Source of the step: [ward2019].
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "common/ledger/loss.hpp"
#include "methods/gradient_rounds.hpp"
#include "methods/training_method.hpp"

namespace dpreduce {

/// Norm that a round clips residuals to: the fixed norm of the loss, or a norm that follows released counts.
enum class Bound { kFixed, kAdaptive };

/// Settings of a descent: its bound, its loss, the user's step length and radius.
struct DescentSettings {
  Bound bound = Bound::kFixed;
  Loss loss = Loss::kSoftmax;
  std::optional<double> learning_rate;
  std::optional<double> radius;
  std::size_t averaged = 1;  ///< P, the number of descents whose weights are averaged
};

/// Step rule of descent, as in the equations above.
class DescentStep : public StepRule {
 public:
  /// Makes the rule for T = `rounds` steps on K x d weights of rows of norm C = `clip_norm`.
  DescentStep(const DescentSettings& settings, std::uint64_t rounds, std::size_t classes, double clip_norm);

  double next_residual_norm(double residual_norm) const override;

  void step(const NoisedRound& round, std::span<double> weights) override;

 private:
  DescentSettings settings_;
  double share_beyond_ = 0.0;  // b of the last round
  std::uint64_t rounds_;
  double clip_norm_;
  double reach_;          // D
  double squares_ = 0.0;  // of gradients so far, without their noise
};

/// Returns the method of 300 rounds of descent, unless the user sets another number, with `bound` on residuals.
std::unique_ptr<TrainingMethod> make_gradient_descent(const FitOptions& options, Bound bound);

}  // namespace dpreduce
