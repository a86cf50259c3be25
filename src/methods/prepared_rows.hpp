// The training rows of a rank as they are prepared now: centered, projected, selected, with an intercept, and kept in
// memory where a method goes through them many times.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "aggregator/release/release.hpp"
#include "methods/fit_plan.hpp"
#include "methods/statistic_task.hpp"
#include "methods/timings.hpp"
#include "worker/kept_chunks.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce {

/// Makes the function that is shown how far a pass over rows has come, for the named release.
using ProgressOf = std::function<OnChunk(std::string_view release)>;

class PreparedRows {
 public:
  /// Rows of a run. All references outlive it. With a `source` statistics of training rows are the source's, which
  /// outlives it, and `rows` are not read. Preconditions of a source (asserted, here or where they would matter): one
  /// rank; no samples, no private choices, and no releases of each rank's own rows.
  PreparedRows(Communicator& ranks, WorkerRows& rows, const FitPlan& plan, const StreamPlan& stream,
               ProgressOf progress, Timings& timings, StatisticSource* source);

  /// Keeps every rank's rows in memory from the next pass on, as they are prepared now, where they fit into its
  /// --memory, until they change. For methods that pass over rows many times; results are the same.
  void keep() { keeps_for_ = KeptFor::kRounds; }
  /// Keeps rows so for a pass or two, until they are projected: rows that are kept after that are then made of these,
  /// and not read again.
  void keep_to_project() { keeps_for_ = KeptFor::kProjection; }

  /// Centers rows by this released mean, from here on.
  void set_center(std::vector<double> center);
  /// Multiplies rows, as they are now, by this matrix (k x d, row-major), and scales or clips them again, from here on.
  void project(std::vector<double> matrix);
  /// Keeps these features of rows only, from here on.
  void set_selected(std::vector<std::size_t> selected);
  /// Gives rows an intercept coordinate, from here on.
  void set_intercept(double share);
  /// Scales raw columns so, and scales or clips rows, from here on.
  void set_columns(FeatureColumns columns, Normalize normalize);
  /// Clips rows longer than C to it, from here on; the others keep their lengths.
  void set_clip(double clip_norm);
  /// Scales the targets of rows so, and makes them part of rows by their share, from here on.
  void set_targets(TargetColumns targets);

  const RowTransform& transform() const { return transform_; }
  const Preprocessing& preprocessing() const { return transform_.preprocessing(); }
  /// The lattice of rows as they are released now.
  Lattice lattice() const { return {preprocessing().clip_norm, preprocessing().output_dim()}; }
  std::size_t classes() const { return stream_.classes; }

  WorkerRows& training() { return rows_; }
  StatisticSource* source() const { return source_; }
  /// Place of this rank's first row among the rows of all ranks, in rank order. Collective the first time.
  std::uint64_t first();

  /// Shows `visit` this rank's share of `rows`, the training rows or others, as training rows are prepared now.
  /// Collective.
  void visit(std::string_view name, WorkerRows& rows, const PublicPoint& point, std::optional<RowSample> sample,
             const std::function<void(const StatisticInputs&)>& visit);
  /// The statistic that `compute` makes of this rank's share of `rows`. Collective.
  Statistic statistic(std::string_view name, WorkerRows& rows,
                      const std::function<Statistic(const StatisticInputs&)>& compute);
  /// The requested statistic of them. Collective.
  Statistic statistic(const ReleaseRequest& request, WorkerRows& rows, const PublicPoint& point,
                      std::optional<RowSample> sample = {});

  /// Inputs of a statistic of the training rows, as they are read now.
  StatisticInputs inputs(const OnChunk& on_chunk) { return {rows_, transform_, stream_, on_chunk}; }
  /// Calls `work` with what it calls between chunks of rows: peers are checked, and progress is shown. Collective.
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
  std::optional<std::uint64_t> first_;  // once a sample has asked for it
};

}  // namespace dpreduce
