// What a statistic is computed from.
#pragma once

#include "dpreduce/lattice/lattice_weights.hpp"
#include "dpreduce/privacy/declared_releases.hpp"
#include "dpreduce/randomness/row_coins.hpp"
#include "dpreduce/worker/lattice_stream.hpp"

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
};

struct StatisticInputs {
  WorkerRows& rows;
  const RowTransform& transform;
  const StreamPlan& plan;
  const OnChunk& on_chunk;
  const GradientPoint* point = nullptr;  ///< for gradients
  const KeptChunks* kept = nullptr;   ///< of these rows and this transform; none: they are read and transformed again
  const RowSample* sample = nullptr;  ///< the rows to count; none: all of them
};

/// Rows of a sample that are gathered before they are summed.
inline constexpr std::size_t kDrawnRowsAtOnce = 1024;

/// Calls `visit` with each chunk of the rows, kept or not. Of a sample with its rows alone, gathered: a row that is not
/// drawn adds exactly nothing. Memory of a sample: kDrawnRowsAtOnce rows of 2 d + 4 bytes. Errors: as
/// for_each_lattice_chunk.
void for_each_chunk(const StatisticInputs& inputs, const std::function<void(const LatticeRows&)>& visit);

}  // namespace dpreduce
