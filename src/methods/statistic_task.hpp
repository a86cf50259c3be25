// Statistic that a training run requests, by value: all that a process with some of the rows needs, beside these rows
// and the plan. All of it is public, except the secret of digested rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/data/worker_rows.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/ledger/statistic.hpp"
#include "methods/fit_plan.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/row_digest.hpp"
#include "worker/statistic_entry.hpp"

namespace dpreduce {

/// PublicPoint of what travels. Weights that came from elsewhere are unchecked (LatticeWeights::on).
using TaskPoint = std::variant<std::monostate, GradientPoint, ClassBalls>;

/// Words of a release that are requested.
enum class StatisticPart : std::uint8_t {
  kWhole,  ///< the blocks of the release
  /// All blocks except class_grams of a release in parts, and a block "digests" of the rows of each class
  /// (row_digest.hpp). Each word of a digest is split into two halves, whose sums do not overflow.
  kClassSums,
  /// Block "class_grams" of one class in a release in parts, and "digests" of its rows alone.
  kGramOfClass
};

template <>
inline constexpr auto spellings<StatisticPart> = spelled<StatisticPart>("whole", "class sums",
                                                                        "Gram matrix of a class");

/// Task of a statistic: the release, its rows' preparation, its point and its part.
struct StatisticTask {
  std::string release;          ///< its name in the plan
  Preprocessing preprocessing;  ///< of the rows that are summed
  TaskPoint point{};
  StatisticPart part = StatisticPart::kWhole;
  std::array<std::uint8_t, 32> secret{};  ///< of the digests of rows, for parts
  std::size_t label = 0;                  ///< for kGramOfClass
};

/// Returns the task of a release at this point.
StatisticTask task_of(std::string_view release, const Preprocessing& preprocessing, const PublicPoint& point);

/// Returns the blocks that a task requests. Throws UsageError if the plan has no such release, or no such part of it.
std::vector<BlockShape> shape_of(const StatisticTask& task, const FitPlan& plan);

/// Throws UsageError unless the task belongs to the plan. The plan must have the release, made at a point of that
/// kind and in that part, with the plan's preparation of rows, sizes, loss and bound on residuals. Centers, weights
/// and radii must be within the range of the arithmetic. Fields that the release does not use must not be set. A task
/// comes from elsewhere, and decides what is read and written, and how far a row moves the sums: any accepted task
/// moves the sums by at most what the plan has charged.
void require_of_plan(const StatisticTask& task, const FitPlan& plan, std::size_t classes);

/// Returns the digests whose halves a sum of parts holds, in its last block.
std::vector<RowDigest> digests_of(const Statistic& sum);

/// Returns the exact statistic of `rows` alone. For any partition of the rows, these statistics add up to the
/// statistic of all rows. Cost and memory: those of the released statistic; for kGramOfClass a pass over labels, and
/// n_j d (d + 1) / 2 multiply-adds for the n_j rows of the class. Throws as shape_of and for_each_lattice_chunk, and
/// UsageError if the task does not belong to the plan (require_of_plan).
Statistic statistic_of_rows(const StatisticTask& task, const FitPlan& plan, WorkerRows& rows, const StreamPlan& stream,
                            const OnChunk& on_chunk);

/// Source of the sums of a run whose processes have no rows.
class StatisticSource {
 public:
  virtual ~StatisticSource() = default;
  /// Returns the statistic of all rows, in the blocks of shape_of. An exception from it ends the run.
  virtual Statistic sum(const StatisticTask& task) = 0;
};

}  // namespace dpreduce
