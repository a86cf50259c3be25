// What a statistic is taken at, beside the rows: public, and the same on every rank of a sum.
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "common/base/choices.hpp"
#include "common/lattice/lattice_weights.hpp"

namespace dpreduce {

/// A second head beside the weights that are trained: softmax of a row's cosines to released directions (K x d).
struct Prior {
  const LatticeWeights& directions;
  std::size_t features;  ///< of a row's d coordinates; what follows is an intercept, for which directions are 0
};

/// Weights at which a gradient or a Hessian is taken.
struct GradientPoint {
  const LatticeWeights& weights;
  Loss loss = Loss::kSoftmax;
  const Prior* prior = nullptr;  ///< with kSoftmax only
  double residual_norm = 1.0;    ///< Z: what residuals are clipped to, and their lattice's unit
};

/// The ball of each class that rows are clipped to (statistics/centered_sums.cpp), in feature units.
struct ClassBalls {
  std::vector<double> centers;  ///< K x d
  std::vector<double> radii;    ///< K, above 0
};

/// Of a statistic of the rows alone: std::monostate.
using PublicPoint = std::variant<std::monostate, GradientPoint, ClassBalls>;

}  // namespace dpreduce
