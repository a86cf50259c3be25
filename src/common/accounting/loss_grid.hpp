// A loss law on the nodes offset + j * step, certainly above or certainly below the given one.
//
//   mass[i]          P-mass on the loss offset + (first + i) * step
//   infinite_mass    P-mass on the loss infinity (pessimistic only)
//   H(K)             hockey stick, as in loss_law.hpp; the law of a grid has an H that is linear in K between nodes
//
// Order of laws: one grid law dominates a law if its H is nowhere below. Every composition with other laws is the
// expectation of f(x), x = P/Q, under Q, with f >= 0 convex and increasing, f(0) = 0 and slope at most 1: f is a
// mixture of (x - K)+ with K >= 0, so an H that is larger everywhere gives a larger composed delta.
#pragma once

#include <cstdint>
#include <vector>

#include "common/accounting/loss_law.hpp"

namespace dpreduce {

struct LossGrid {
  double step = 0;
  double offset = 0;
  std::int64_t first = 0;
  std::vector<double> mass{};
  double infinite_mass = 0;
  /// Pessimistic: dominates once every loss is raised by this. Optimistic: dominated once every loss is lowered so.
  double loss_error = 0;
};

/// The loss of mass[index].
inline double loss_at(const LossGrid& grid, std::size_t index) {
  return grid.offset + static_cast<double>(grid.first + static_cast<std::int64_t>(index)) * grid.step;
}

/// The smooth part of a law, cell by cell: what both kinds of grid are made from, and what takes the time.
struct LossCells {
  /// The shares of one cell's P-mass that its two nodes get, such that its Q-mass stays too, and a bound of how far H
  /// lies below its chord there.
  struct Cell {
    double left = 0;
    double right = 0;
    double gap = 0;
  };
  double step = 0;
  double offset = 0;
  std::int64_t first = 0;     // cell i lies between the nodes first + i and first + i + 1
  std::vector<Cell> cells{};  // empty for a law without smooth part
};

/// Precondition: step > 0.
LossCells loss_cells(const LossLaw& law, double step);

/// The linear interpolant of H between the nodes ("connect the dots" [doroshenko2022]): every outcome between two nodes
/// is split between them so that its P- and Q-mass stay. H is convex, so its chords lie above. Adds a variance of
/// step^2/6 per loss, whereas rounding up would add a mean of step/2. Mass below the range moves up to the first node,
/// mass above it to infinity. Precondition: cells = loss_cells(law, step).
LossGrid pessimistic_grid(const LossLaw& law, const LossCells& cells);

/// The largest convex function on the nodes below H - c, where c_j is the larger gap of the two cells at node j, so
/// that the chord of H - c lies below H. Near both ends c is all that H has there, so that P loses no mass, unless all
/// of the law lies in a few cells. Mass outside the range is dropped; atoms must lie on nodes and keep their place.
/// Removes a variance of about step^2/6 per loss. Its Q-mass may pass 1: only H at K >= 0 counts, see above.
/// Precondition: cells = loss_cells(law, step).
LossGrid optimistic_grid(const LossLaw& law, const LossCells& cells);

}  // namespace dpreduce
