// Statistic that a training run requests, by value: all that a process with some of the rows needs beside them and the
// plan. All of it is public, but for the secret of rows that are digested.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/ledger/loss.hpp"
#include "common/ledger/statistic.hpp"
#include "methods/fit_plan.hpp"
#include "worker/row_digest.hpp"
#include "worker/statistic_entry.hpp"

namespace dpreduce {

/// LatticeWeights by value: what weights_of makes them of again.
struct TaskWeights {
  std::vector<std::int16_t> values;  ///< K x d, row-major
  std::vector<double> largest;       ///< K

  bool operator==(const TaskWeights&) const = default;
};

/// GradientPoint by value.
struct TaskGradientPoint {
  TaskWeights weights;
  Loss loss = Loss::kSoftmax;
  std::optional<TaskWeights> directions;  ///< of the prior, where there is one
  std::size_t features = 0;               ///< of the prior
  double residual_norm = 1.0;

  bool operator==(const TaskGradientPoint&) const = default;
};

/// PublicPoint by value.
using TaskPoint = std::variant<std::monostate, TaskGradientPoint, ClassBalls>;

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
inline constexpr std::array spellings<StatisticPart>{
    std::pair{std::string_view{"whole"}, StatisticPart::kWhole},
    std::pair{std::string_view{"class sums"}, StatisticPart::kClassSums},
    std::pair{std::string_view{"Gram matrix of a class"}, StatisticPart::kGramOfClass}};

struct StatisticTask {
  std::string release;          ///< its name in the plan
  Preprocessing preprocessing;  ///< of the rows that are summed
  TaskPoint point{};
  StatisticPart part = StatisticPart::kWhole;
  std::array<std::uint8_t, 32> secret{};  ///< of the digests of rows, for parts
  std::size_t label = 0;                  ///< for kGramOfClass
};

/// The task of a release at this point.
StatisticTask task_of(std::string_view release, const Preprocessing& preprocessing, const PublicPoint& point);

/// Returns the blocks that a task requests. Throws UsageError where the plan has no such release, or none of such a
/// part.
std::vector<BlockShape> shape_of(const StatisticTask& task, const FitPlan& plan);

/// Throws UsageError unless the task is of the plan: the plan has the release, made at a point of that kind and in that
/// part; with the plan's preparation of rows, sizes, loss and bound on residuals; centers, weights and radii within the
/// range that arithmetic takes; and nothing set that the release does not use. A task comes from elsewhere, and decides
/// what is read and written, and how far a row moves the sums. So any task that is not refused moves by at most what
/// the plan has charged.
void require_of_plan(const StatisticTask& task, const FitPlan& plan, std::size_t classes);

/// The digests whose halves a sum of parts holds, in its last block.
std::vector<RowDigest> digests_of(const Statistic& sum);

/// Returns the exact statistic of `rows` alone. Sums of it over rows that are cut in any way are the statistic of all.
/// Cost and memory: those of the released statistic; for kGramOfClass a pass over labels, and n_j d (d + 1) / 2
/// multiply-adds for the n_j rows of the class. Throws as shape_of and for_each_lattice_chunk, and UsageError where the
/// task is none of the plan's (require_of_plan).
Statistic statistic_of_rows(const StatisticTask& task, const FitPlan& plan, WorkerRows& rows, const StreamPlan& stream,
                            const OnChunk& on_chunk);

/// Source of a run's sums when none of its processes has rows.
class StatisticSource {
 public:
  virtual ~StatisticSource() = default;
  /// Returns the statistic of all rows, in the blocks of shape_of. An exception from it ends the run.
  virtual Statistic sum(const StatisticTask& task) = 0;
};

}  // namespace dpreduce
