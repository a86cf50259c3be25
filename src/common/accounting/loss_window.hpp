// Window on a composed privacy loss: how strongly to tilt the loss, and which interval then contains nearly all of it.
//
//   S = sum of all losses, under P;  K(theta) = ln E[e^(theta S)] = sum_i count_i ln E[e^(theta L_i)]
//   tilted law   e^(theta s - K(theta)) P[S = s]: mean K'(theta), variance K''(theta)
//
// Untilted, the tail that makes delta = E[(1 - e^(epsilon - S))+] may weigh 1e-15 or less, below the rounding errors of
// a Fourier transform. Tilted with the theta whose mean is about epsilon, it is the middle of the law. These numbers
// come from coarse samples and only steer: bounds taken with any window are true, with a good one they are also sharp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/accounting/loss_law.hpp"

namespace dpreduce {

struct LossWindow {
  double tilt;    ///< theta >= 0
  double center;  ///< K'(theta)
  double low;     ///< tilted mass outside [low, high] is about e^-26 on each side
  double high;
  double rate_below;  ///< s > 0 of the Chernoff bounds E[e^(-s (S - low))], E[e^(s (S - high))] of these tails
  double rate_above;
};

/// A few thousand samples of the sum of equal losses.
class LossSketch {
 public:
  LossSketch(const LossLaw& law, std::uint64_t count);
  /// count ln E[e^(theta L)]
  double log_moment(double theta) const;
  /// count times mean of L under the tilted law.
  double mean(double theta) const;
  double largest_loss() const { return largest_; }
  /// Largest distance of one loss above (sign > 0) or below its tilted mean.
  double reach(double theta, double sign) const;
  double range() const { return largest_ - smallest_; }

 private:
  struct Sample {
    double loss;
    double log_mass;
  };
  double count_;
  std::vector<Sample> samples_;
  double smallest_;
  double largest_;
};

/// The epsilon at delta (the ln delta at epsilon) that the moment of one order alone proves: [canonne2020],
/// Proposition 12, at order 1 + theta. Not clamped.
double epsilon_of_moment(double log_moment, double tilt, double delta);
double log_delta_of_moment(double log_moment, double tilt, double epsilon);

/// The tilts that make these least.
double tilt_for_delta(std::span<const LossSketch> losses, double delta);
double tilt_for_epsilon(std::span<const LossSketch> losses, double epsilon);

/// K(theta).
double log_moment(std::span<const LossSketch> losses, double theta);

LossWindow window_around(std::span<const LossSketch> losses, double tilt);

}  // namespace dpreduce
