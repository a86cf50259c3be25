// Training rows of a rank in their current preparation: centered, projected, selected, with an intercept, and kept in
// memory if a method passes over them many times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "common/lattice/lattice_rows.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/ledger/statistic.hpp"
#include "common/ranks/communicator.hpp"
#include "methods/fit_plan.hpp"
#include "methods/statistic_task.hpp"
#include "methods/timings.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/statistic_entry.hpp"

namespace dpreduce {

/// Function that returns, for the named release, the function that is shown the progress of a pass over rows.
using ProgressOf = std::function<OnChunk(std::string_view release)>;

/// Rows of a run on this rank, with the transform that prepares them, and the passes over them.
class PreparedRows {
 public:
  /// Holds the rows of a run. All references outlive it. With a `source`, statistics of training rows come from the
  /// source, which outlives this object, and `rows` are not read. Preconditions of a source (asserted, here or where
  /// they matter): one rank; no samples, no private choices, and no releases of each rank's own rows.
  PreparedRows(Communicator& ranks, WorkerRows& rows, const FitPlan& plan, const StreamPlan& stream,
               ProgressOf progress, Timings& timings, StatisticSource* source);

  /// Keeps every rank's rows in memory from the next pass on, in their current preparation, if they fit into its
  /// --memory, until the preparation changes. For methods that pass over rows many times; results are the same.
  void keep() { keeps_for_ = KeptFor::kRounds; }
  /// Keeps rows likewise for a pass or two, until they are projected. Rows that are kept after that are then made
  /// from these, and not read again.
  void keep_to_project() { keeps_for_ = KeptFor::kProjection; }

  /// Centers rows by this released mean, from here on.
  void set_center(std::vector<double> center);
  /// Multiplies rows in their current preparation by this matrix (k x d, row-major), and scales or clips them again,
  /// from here on.
  void project(std::vector<double> matrix);
  /// Keeps only these features of rows, from here on.
  void set_selected(std::vector<std::size_t> selected);
  /// Gives rows an intercept coordinate, from here on.
  void set_intercept(double share);
  /// Scales raw columns by `columns`, and scales or clips rows by `normalize`, from here on.
  void set_columns(FeatureColumns columns, Normalize normalize);
  /// Clips rows longer than C = `clip_norm` to it, from here on; other rows keep their lengths.
  void set_clip(double clip_norm);
  /// Scales the targets of rows by `targets`, and makes them part of rows by their share, from here on.
  void set_targets(TargetColumns targets);

  const RowTransform& transform() const { return transform_; }
  const Preprocessing& preprocessing() const { return transform_.preprocessing(); }
  /// Lattice of rows in their current preparation.
  Lattice lattice() const { return {preprocessing().clip_norm, preprocessing().output_dim()}; }
  std::size_t classes() const { return stream_.classes; }

  WorkerRows& training() { return rows_; }
  StatisticSource* source() const { return source_; }
  /// Returns the place of this rank's first row among the rows of all ranks, in rank order. Collective at the first
  /// call.
  std::uint64_t first();

  /// Shows `visit` this rank's share of `rows`, the training rows or others, in the current preparation of training
  /// rows. Collective.
  void visit(std::string_view name, WorkerRows& rows, const PublicPoint& point, std::optional<RowSample> sample,
             const std::function<void(const StatisticInputs&)>& visit);
  /// Returns the statistic that `compute` makes of this rank's share of `rows`. Collective.
  Statistic statistic(std::string_view name, WorkerRows& rows,
                      const std::function<Statistic(const StatisticInputs&)>& compute);
  /// Returns the requested statistic of this rank's share of `rows`. Collective.
  Statistic statistic(const ReleaseRequest& request, WorkerRows& rows, const PublicPoint& point,
                      std::optional<RowSample> sample = {});

  /// Returns inputs for a statistic of the training rows in their current preparation.
  StatisticInputs inputs(const OnChunk& on_chunk) { return {{rows_, transform_, stream_, on_chunk}}; }
  /// Calls `work` with the function that `work` calls between chunks of rows: that function checks peers and shows
  /// progress. Collective.
  void in_pass(std::string_view name, const std::function<void(const OnChunk&)>& work);

 private:
  void prepare(Preprocessing changed);
  void keep_now(KeptFor use);
  StreamPlan stream_of(const WorkerRows& rows) const;

  // Rows that were kept before they were projected.
  struct UnprojectedRows {
    KeptChunks chunks;
    Preprocessing as;
  };

  Communicator& ranks_;
  WorkerRows& rows_;
  const FitPlan& plan_;
  StreamPlan stream_;
  ProgressOf progress_;
  Timings& timings_;
  StatisticSource* source_;
  RowTransform transform_;
  std::optional<KeptFor> keeps_for_;  // from their next pass on
  std::optional<KeptChunks> kept_;    // rows_ as transform_ prepares them
  std::optional<UnprojectedRows> unprojected_;
  bool are_checked_ = false;            // by a pass over all of rows_
  std::optional<std::uint64_t> first_;  // once a sample has requested it
};

}  // namespace dpreduce
