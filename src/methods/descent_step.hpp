// The step of noisy gradient descent: of `gd`, and of each silo in `fedavg`.
//
//     W_t = P_R(W_(t-1) - eta_t (gradient(W_(t-1)) + noise))        P_R: the nearest W with |W|_F <= R
//
// eta_t is the user's constant, or eta_t = 1 / sqrt(h^2 + sum_(r <= t) max(|g_r|_F^2 - K d s^2, 0) / D^2): AdaGrad-Norm
// of what the noised gradients g_r hold beside noise, whose share K d s^2 is known, with the curvature h of all the
// noise that will come (gradient_rounds.hpp) in place of its epsilon. Where noise rules, steps are equal and T rounds
// add up to one release of class means with the whole budget; where the signal rules, a first step is as long as D.
// Where the weights of P descents are averaged, so is their noise: h is that of s / sqrt(P).
// Source: Ward, Wu and Bottou 2019 for the step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dpreduce/methods/gradient_rounds.hpp"

namespace dpreduce {

struct DescentSettings {
  std::optional<double> learning_rate;
  std::optional<double> radius;
  std::size_t averaged = 1;  ///< P
};

class DescentStep : public StepRule {
 public:
  /// For T = `rounds` steps on K x d weights of rows of norm C.
  DescentStep(const DescentSettings& settings, std::uint64_t rounds, std::size_t classes, double clip_norm);

  void step(const NoisedRound& round, std::span<double> weights) override;

 private:
  DescentSettings settings_;
  std::uint64_t rounds_;
  double clip_norm_;
  double reach_;          // D
  double squares_ = 0.0;  // of gradients so far, without their noise
};

}  // namespace dpreduce
