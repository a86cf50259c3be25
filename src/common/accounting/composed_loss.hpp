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
#include "common/accounting/loss_window.hpp"

namespace dpreduce {

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
