// A statistic is computed from rows, and from what it is taken at, which is public and the same on every rank of a
// sum.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "common/lattice/lattice_weights.hpp"
#include "common/model/classifier.hpp"
#include "common/plan/evaluation_terms.hpp"
#include "common/plan/loss.hpp"
#include "common/randomness/row_coins.hpp"
#include "worker/lattice_stream.hpp"

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
  /// Z: what residuals are clipped to, and the length that their lattice has as S.
  double residual_norm = residual_norm_of(loss, prior != nullptr);
};

/// The ball of each class that rows are clipped to (statistics/centered_sums.cpp), in feature units.
struct ClassBalls {
  std::vector<double> centers;  ///< K x d
  std::vector<double> radii;    ///< K, above 0
};

/// Models that rows are scored by, and what is asked of their scores; of positives alone the curve, in [0, 1], from
/// each bin of their scores. All outlive the point.
struct ModelsPoint {
  std::span<const Classifier> models;
  const EvaluationTerms& terms;
  std::span<const double> curve{};
};

/// The point of a statistic; std::monostate where that is of the rows alone.
using PublicPoint = std::variant<std::monostate, GradientPoint, ClassBalls, ModelsPoint>;

struct StatisticInputs {
  WorkerRows& rows;
  const RowTransform& transform;
  const StreamPlan& plan;
  const OnChunk& on_chunk;
  PublicPoint point{};
  std::optional<RowSample> sample{};    ///< the rows to count; none: all of them
  std::span<const LatticeRows> kept{};  ///< all of these rows by this transform; none: they are read and transformed
  bool are_checked = false;             ///< a pass over all of these rows has found none that BadRows::kFail refuses
};

/// The weights that a gradient of these rows is taken at. Preconditions (asserted): the point is one; its weights are
/// for rows of that many entries.
const GradientPoint& gradient_point(const StatisticInputs& inputs);

/// Rows of a sample that are gathered before they are summed.
inline constexpr std::size_t kDrawnRowsAtOnce = 1024;

/// Calls `visit` with each chunk of the rows, kept or not. Of a sample with its rows alone, gathered: a row that is not
/// drawn adds exactly nothing. Where the rows' units are known, units are drawn, and not rows; else, where all rows
/// are kept or checked, drawn rows alone are touched. Memory of a sample: kDrawnRowsAtOnce rows of 2 d + 4 bytes, or as
/// many as one unit has, where chunks are of whole units, or 4 d_in for each row of a chunk. Throws as
/// for_each_lattice_chunk.
void for_each_chunk(const StatisticInputs& inputs, const std::function<void(const LatticeRows&)>& visit);

}  // namespace dpreduce
