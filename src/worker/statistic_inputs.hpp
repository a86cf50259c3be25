// What a statistic is computed from.
#pragma once

#include "dpreduce/lattice/lattice_weights.hpp"
#include "dpreduce/privacy/declared_releases.hpp"
#include "dpreduce/worker/lattice_stream.hpp"

namespace dpreduce {

/// The public point at which a gradient is taken.
struct GradientPoint {
  const LatticeWeights& weights;
  Loss loss = Loss::kSoftmax;
};

struct StatisticInputs {
  WorkerRows& rows;
  const RowTransform& transform;
  const StreamPlan& plan;
  const OnChunk& on_chunk;
  const GradientPoint* point = nullptr;  ///< for gradients
};

}  // namespace dpreduce
