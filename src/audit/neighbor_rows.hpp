// Pairs of adjacent data sets on which a faulty mechanism would give itself away.
//
// Legend: C the clip norm, u = (1, ..., 1) / sqrt(d). The canary is 1000 C u: a clip must bring it to C u, and an entry
// that is only cut off at the lattice's bound has norm sqrt(d) C still.
//
//     alone      the canary's class is empty without it; n rows C u lie in another class, so that a model that learns
//     by
//                rounds takes the canary for one of them, with a residual of norm 1 and more; 2 n rows -C u lie in a
//                third, so that centering by a released mean leaves the canary its full length, and more
//     opposed    n rows -C u lie in the canary's own class: a mean over n rows moves by 2 C / (n + 1)
//     turned     (replace-one) the canary stands for its own opposite
//     moved      (replace-one) the canary stands for a row at right angles to it, (1, -1, 1, ...), in another class
//
// But for `alone`, where rows are centered by a released mean, rows C u and -C u by turns in a third class keep that
// mean near 0, so that centering takes nothing from the canary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/choices.hpp"

namespace dpreduce {

/// Of a canary, in clip norms: a clip that is skipped shows.
inline constexpr double kCanaryLength = 1000.0;

/// n x d features, row-major, with a label each.
struct LabeledRows {
  std::size_t dim = 0;
  std::vector<float> x;
  std::vector<std::int32_t> y;

  void add(std::span<const float> row, std::int32_t label);

  /// Writes `x_path` (float32) and `y_path` (int64), .npy. Throws BadInput as NpyWriter does.
  void write(const std::string& x_path, const std::string& y_path) const;
};

struct NeighborPair {
  std::string name;
  LabeledRows without;  ///< world 0
  LabeledRows with;     ///< world 1: one record more, or another one
};

struct NeighborTerms {
  std::size_t classes = 0;
  std::size_t dim = 0;
  double clip_norm = 1.0;
  std::size_t other_rows = 0;      ///< n, but for `alone`
  std::size_t rows_taken_for = 0;  ///< n, for `alone`
  std::size_t balancing_rows = 0;  ///< C u and -C u by turns
  Adjacency adjacency = Adjacency::kAddRemove;
};

/// Public rows to choose prototypes from: C u, -C u and one at right angles to them, so that the canary speaks as loud
/// as it may, for the first and against the second.
LabeledRows opposed_public_rows(std::size_t dim, double clip_norm);

/// Preconditions (asserted): classes >= 3; dim >= 1; clip_norm > 0.
std::vector<NeighborPair> worst_case_pairs(const NeighborTerms& terms);

}  // namespace dpreduce
