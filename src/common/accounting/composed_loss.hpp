// The sum of independent losses on one grid, by one tilted Fourier transform a mechanism, with certain bounds.
//
//   S = sum_i (L_i1 + ... + L_i,count_i),   delta(epsilon) = P[S = infinity] + E[(1 - e^(epsilon - S))+]
//   x_i[j] = mass_i[j] e^(theta l_j) / M_i          tilted; the transform of the tilted S is prod_i z_i^count_i
//   y[s]   = tilted mass of S, modulo the transform's length N: what lies outside the window is folded into it
//   delta  = e^(K(theta) - theta c) sum_s y[s] e^(-theta (s - c)) (1 - e^(epsilon - s))+,   c the window's center
//
// Terms that are added (upper) or subtracted (lower), all in the units of the tilted law:
//
//   transforms   an L2 norm of the error of y (loss_spectrum.hpp). Cauchy-Schwarz: its product with the norm of the
//                weights e^(-theta (s - c)) (1 - e^(epsilon - s))+ bounds what the sum above errs by
//   folding      Chernoff bounds of the tilted mass above and below the window. Upper: what is above is missing, what
//                is below can only add. Lower: both may have been added
//   rounding     of tilts, powers and sums: a relative margin
//   losses       sum_i count_i loss_error_i moves epsilon
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/accounting/loss_grid.hpp"
#include "common/accounting/loss_law.hpp"

namespace dpreduce {

// Window on a composed privacy loss: how strongly to tilt the loss, and which interval then contains nearly all of it.
//
//   S = sum of all losses, under P;  K(theta) = ln E[e^(theta S)] = sum_i count_i ln E[e^(theta L_i)]
//   tilted law   e^(theta s - K(theta)) P[S = s]: mean K'(theta), variance K''(theta)
//
// Untilted, the tail that makes delta = E[(1 - e^(epsilon - S))+] may weigh 1e-15 or less, below the rounding errors of
// a Fourier transform. Tilted with the theta whose mean is about epsilon, it is the middle of the law. These numbers
// come from coarse samples and only steer: bounds taken with any window are true, with a good one they are also sharp.

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
  struct Moments {
    double log_moment;  ///< count ln E[e^(theta L)]
    double mean;        ///< count times mean of L under the tilted law
  };
  Moments moments(double theta) const;
  double mean(double theta) const { return moments(theta).mean; }
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

struct RepeatedGrid {
  LossGrid grid;
  std::uint64_t count;
};

enum class Side { kUpper, kLower };

class ComposedLoss {
 public:
  /// Cost: one transform of length (high - low) / step for each part, and one back. Preconditions: some part; all steps
  /// equal; side kLower needs parts without infinite mass to mean anything.
  ComposedLoss(std::span<const RepeatedGrid> parts, const LossWindow& window, Side side);

  /// Side kUpper: an epsilon >= 0 with delta(epsilon) <= delta; where the window holds none, the sum of all largest
  /// losses. Side kLower: one that is at most the smallest such epsilon.
  double epsilon_at(double delta) const;

 private:
  double node(std::size_t index) const;
  double bound_at(std::size_t index, double hockey) const;

  Side side_;
  double step_;
  double offset_ = 0;  // of all nodes: sum_i count_i offset_i
  double tilt_;
  double center_;
  std::int64_t first_ = 0;      // hockey_[0] belongs to the node offset_ + first_ step_
  std::vector<double> hockey_;  // sum_s y[s] e^(-theta (s - c)) (1 - e^(node - s))+
  double scale_ = 0;            // e^(K(theta) - theta c)
  double relative_margin_ = 0;
  double error_at_center_ = 0;  // of hockey_ at the node c; at others times e^(-theta (node - c))
  double missing_above_ = 0;    // upper: tilted-weighted mass above the window
  double infinite_mass_ = 0;
  double loss_error_ = 0;
  double largest_loss_ = 0;  // of the sum, where it is finite
};

}  // namespace dpreduce
