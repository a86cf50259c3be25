// A loss law on the nodes j * step, certainly above or certainly below the given one.
//
//   mass[i]          P-mass on the loss (first + i) * step
//   infinite_mass    P-mass on the loss infinity (pessimistic only)
//   H(K)             hockey stick, as in loss_law.hpp; the law of a grid has an H that is linear in K between nodes
//
// Order of laws: one grid law dominates a law if its H is nowhere below. Every composition with other laws is the
// expectation of f(x), x = P/Q, under Q, with f >= 0 convex and increasing, f(0) = 0 and slope at most 1: f is a mixture
// of (x - K)+ with K >= 0, so an H that is larger everywhere gives a larger composed delta.
#pragma once

#include <cstdint>
#include <vector>

#include "dpreduce/privacy/loss_law.hpp"

namespace dpreduce {

struct LossGrid {
  double step;
  std::int64_t first;
  std::vector<double> mass;
  double infinite_mass = 0;
  /// Pessimistic: dominates once every loss is raised by this. Optimistic: dominated once every loss is lowered by this.
  double loss_error = 0;
};

/// The linear interpolant of H between the nodes ("connect the dots", Doroshenko et al. 2022): every outcome between two
/// nodes is split between them so that its P- and Q-mass stay. H is convex, so its chords lie above. Adds a variance of
/// step^2/6 per loss, whereas rounding up would add a mean of step/2.
/// Mass below the range moves up to the first node, mass above it to infinity.
/// @pre step > 0.
LossGrid pessimistic_grid(const LossLaw& law, double step);

/// The largest convex function on the nodes below H - c, where c_j is the larger gap of the two cells at node j and a
/// cell's gap bounds how far H lies below its chord there, so that the chord of H - c lies below H. Near both ends c is
/// all that H has there, so that P and Q lose no mass. Mass outside the range is dropped; atoms must lie on nodes and keep
/// their place. Removes a variance of about step^2/6 per loss.
/// @pre step > 0.
LossGrid optimistic_grid(const LossLaw& law, double step);

}  // namespace dpreduce
