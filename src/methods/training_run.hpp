// One training run as a method sees it: releases of statistics of everybody's rows, one after the other.
//
//     release(name)    = this rank's statistic of its rows  ->  noise, ledger, reduction over ranks
//     (aggregator/release) sum_public(name) = this rank's statistic of its public rows  ->  reduction over ranks
//
// The only way from rows to a method, so that a method cannot look at anything that has no noise.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dpreduce/aggregator/release.hpp"
#include "dpreduce/methods/fit_plan.hpp"
#include "dpreduce/methods/timings.hpp"
#include "dpreduce/worker/registered_statistics.hpp"

namespace dpreduce {

/// Makes what is told how far a pass has come (for the named release).
using ProgressOf = std::function<OnChunk(std::string_view release)>;

/// Called at the rank that owns the class, with its released Gram matrix (upper triangle).
using OnClassGram = std::function<void(std::size_t label, const ReleasedBlock& gram)>;

/// How many Gram matrices a rank sums up before they are reduced.
inline constexpr std::size_t kGramsAtOnce = 8;

class TrainingRun {
 public:
  /// All references outlive the run, and so do `public_rows`, where there are any: no secret, and without labels.
  TrainingRun(Communicator& ranks, WorkerRows& rows, Releaser& releaser, const FitPlan& plan, const StreamPlan& stream,
              ProgressOf progress, Timings& timings, WorkerRows* public_rows = nullptr);

  /// The next round of that release, of a sample of the rows where the plan has one, at the coordinator; other ranks
  /// get one without blocks. Collective: all ranks stop soon after one fails. Gradients need their `point`, the same on
  /// every rank. Errors: as for_each_lattice_chunk and Releaser::release.
  Release release(std::string_view name, const GradientPoint* point = nullptr);

  /// The exact sum of that statistic over the public rows of all ranks, transformed as training rows are now; at the
  /// coordinator, else without blocks. Costs nothing: it says nothing about training rows. Collective.
  /// Precondition (asserted): there are public rows. Errors: as for_each_lattice_chunk.
  Release sum_public(std::string_view name);

  /// The release "class_least_squares", class by class, in memory that does not grow with their number. First `on_sums`
  /// is called on every rank with gram (where it is released) and class_sums; then `on_gram` for each class, at one of
  /// the ranks, with nothing to be kept: a matrix is dropped when it returns. Neither may call a collective. Phases:
  /// sums, gram, reduce, solve. Collective; errors as release, and BadInput where files change while they are read.
  /// Memory of a rank: that of the stream, 8 d^2 + 4 d^2 min(P, kGramsAtOnce) + 8 d^2 for released matrices, and what
  /// the callbacks take.
  void release_class_grams(std::string_view name, const std::function<void(const Release&)>& on_sums,
                           const OnClassGram& on_gram);

  /// Keeps every rank's rows as they are now in memory, where they fit into --memory on that rank, until they change.
  /// For methods that pass over them many times; results are the same. Collective. Errors: as for_each_lattice_chunk.
  void keep_rows();

  /// From here on `watcher` is shown every release, as it becomes public. Releases in parts are whole on one
  /// rank only: with more ranks they must not be watched.
  void watch(std::function<void(const Release&)> watcher) { watcher_ = std::move(watcher); }

  /// From here on rows are centred by this released mean.
  void set_center(std::vector<double> center);
  /// From here on rows, as they are now, are multiplied by this matrix (k x d, row-major) and scaled or clipped again.
  void project(std::vector<double> matrix);
  /// From here on rows keep these features only.
  void set_selected(std::vector<std::size_t> selected);
  /// From here on rows get an intercept coordinate.
  void set_intercept(double share);

  Communicator& ranks() { return ranks_; }
  const Preprocessing& preprocessing() const { return transform_.preprocessing(); }
  /// Of rows as they are released now.
  Lattice lattice() const { return {preprocessing().clip_norm, preprocessing().output_dim()}; }
  std::size_t classes() const { return stream_.classes; }
  void end_phase(const std::string& phase) { timings_.end_phase(phase); }

 private:
  void prepare(Preprocessing changed);
  Statistic local_statistic(const ReleaseRequest& request, WorkerRows& rows, const GradientPoint* point,
                            const RowSample* sample = nullptr);
  std::uint64_t first_row();

  Communicator& ranks_;
  WorkerRows& rows_;
  Releaser& releaser_;
  const FitPlan& plan_;
  StreamPlan stream_;
  ProgressOf progress_;
  Timings& timings_;
  RowTransform transform_;
  std::optional<KeptChunks> kept_;  // of rows_, by transform_
  WorkerRows* public_rows_;
  std::function<void(const Release&)> watcher_;
  std::optional<std::uint64_t> first_row_;  // once a sample has asked for it
};

}  // namespace dpreduce
