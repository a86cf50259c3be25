// What a statistic is computed from.
#pragma once

#include <vector>

#include "common/lattice/lattice_weights.hpp"
#include "common/plan/declared_releases.hpp"
#include "common/randomness/row_coins.hpp"
#include "worker/lattice_stream.hpp"

namespace dpreduce {

/// A second head beside the weights that are trained: softmax of a row's cosines to released directions (K x d).
struct Prior {
  const LatticeWeights& directions;
  std::size_t features;  ///< of a row's d coordinates; what follows is an intercept, for which directions are 0
};

/// The public point at which a gradient is taken.
struct GradientPoint {
  const LatticeWeights& weights;
  Loss loss = Loss::kSoftmax;
  const Prior* prior = nullptr;  ///< with kSoftmax only
  double residual_norm = 1.0;    ///< Z: what residuals are clipped to, and their lattice's unit
};

/// The public ball of each class that rows are clipped to (centred_sums.hpp), in feature units.
struct ClassBalls {
  std::vector<double> centers;  ///< K x d
  std::vector<double> radii;    ///< K, above 0
};

struct StatisticInputs {
  WorkerRows& rows;
  const RowTransform& transform;
  const StreamPlan& plan;
  const OnChunk& on_chunk;
  const GradientPoint* point = nullptr;  ///< for gradients
  const KeptChunks* kept = nullptr;   ///< of these rows and this transform; none: they are read and transformed again
  const RowSample* sample = nullptr;  ///< the rows to count; none: all of them
  const ClassBalls* balls = nullptr;  ///< for centred sums
};

/// Rows of a sample that are gathered before they are summed.
inline constexpr std::size_t kDrawnRowsAtOnce = 1024;

/// Calls `visit` with each chunk of the rows, kept or not. Of a sample with its rows alone, gathered: a row that is not
/// drawn adds exactly nothing. Memory of a sample: kDrawnRowsAtOnce rows of 2 d + 4 bytes. Errors: as
/// for_each_lattice_chunk.
void for_each_chunk(const StatisticInputs& inputs, const std::function<void(const LatticeRows&)>& visit);

}  // namespace dpreduce
