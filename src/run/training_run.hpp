// One training run as a method sees it: releases of statistics of everybody's rows, one after the other.
//
//     release(name)         = this rank's statistic of its rows  ->  noise, ledger, reduction (aggregator/release)
//     sum_public(name)      = this rank's statistic of its public rows  ->  reduction over ranks
//     choose(candidates)    = correct rows of each  ->  the best on public rows, or a private choice
//     select_public_rows()  = utilities of all public rows  ->  a private choice for each class
//
// It is the only way from rows to a method. So a method cannot look at anything without noise, and a log of the
// releases is all that a run needs to go on (release_log.hpp).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/release/release.hpp"
#include "common/lattice/cosine_clip.hpp"
#include "run/fit_plan.hpp"
#include "run/statistic_task.hpp"
#include "run/timings.hpp"
#include "worker/kept_chunks.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce {

class ReleaseLog;

/// Makes the function that is shown how far a pass over rows has come, for the named release.
using ProgressOf = std::function<OnChunk(std::string_view release)>;

/// Called at the rank that owns the class, with its released Gram matrix (upper triangle); returns what is made of it,
/// as many numbers for every class.
using OnClassGram = std::function<std::vector<double>(std::size_t label, const ReleasedBlock& gram)>;

/// How many Gram matrices a rank sums up before their reductions begin; as many may be on their way meanwhile.
inline constexpr std::size_t kGramsAtOnce = 4;

/// Rows that are no secret; null where there are none.
struct PublicRows {
  WorkerRows* features = nullptr;    ///< without labels
  WorkerRows* validation = nullptr;  ///< with labels
  WorkerRows* candidates = nullptr;  ///< without labels; opened as all of them on every rank
};

/// One of several classifiers that the same releases give.
struct Candidate {
  std::string setting;                ///< how reports name it
  std::vector<double> weights;        ///< K x d, d counting an intercept, in the coordinates of prepared rows
  std::optional<double> threshold{};  ///< that of its scores, where candidates differ in it; the same on every rank
};

/// A release as it becomes public, and the public point that its statistic was taken at.
struct WatchedRelease {
  std::string_view name;
  const Release& release;
  const Preprocessing& preprocessing;  ///< of the rows that were summed
  PublicPoint point;
};

using ReleaseWatcher = std::function<void(const WatchedRelease&)>;

class TrainingRun {
 public:
  /// All references outlive the run, and so do public rows.
  TrainingRun(Communicator& ranks, WorkerRows& rows, Releaser& releaser, const FitPlan& plan, const StreamPlan& stream,
              ProgressOf progress, Timings& timings, PublicRows public_rows = {});

  /// The next round of that release, of a sample of the rows where the plan has one, at the coordinator; other ranks
  /// get one without blocks. Collective: all ranks stop soon after one fails. `point`, the same on every rank, is what
  /// the statistic is taken at. Throws as for_each_lattice_chunk and Releaser::release.
  Release release(std::string_view name, const PublicPoint& point = {});

  /// The next round of that release as each rank makes it of its own rows, at a point of its own, with noise of its own
  /// (Releaser::release_of_each_rank): on every rank its own. Collective: all ranks make it at the same time, and stop
  /// soon after one fails. Preconditions (asserted): nothing is recorded; with more ranks there is no watcher. Throws
  /// as release.
  Release release_of_own_rows(std::string_view name, const PublicPoint& point);

  /// The exact sum of that statistic over the public rows of all ranks, transformed as training rows are now; at the
  /// coordinator, else without blocks. Costs nothing: it says nothing about training rows. Collective. Precondition
  /// (asserted): there are public rows. Throws as for_each_lattice_chunk.
  Release sum_public(std::string_view name);

  /// The release "class_least_squares", class by class, in memory that does not grow with their number. First `on_sums`
  /// is called on every rank with gram (where it is released) and class_sums; then `on_gram` for each class, at one of
  /// the ranks: a matrix is dropped when it returns. Neither may call a collective. Returns at the coordinator, K x
  /// width, what on_gram returned for each class; this is what a log records, as rounds of P classes end, and classes
  /// that it holds are not made again, so that with all of them there neither is called and no row is read. Phases:
  /// sums, gram, reduce, solve. Collective; errors as release, and BadInput where files change while they are read.
  /// Memory of a rank: that of the stream, 8 d^2 + 8 d^2 min(P, kGramsAtOnce) + 8 d^2 for released matrices, and what
  /// the callbacks take.
  std::vector<double> release_class_grams(std::string_view name, std::size_t width,
                                          const std::function<void(const Release&)>& on_sums,
                                          const OnClassGram& on_gram);

  /// The candidate to go with, its weights the same on every rank; of one that. By the number of rows, prepared as they
  /// are now, that each gets right: with validation rows the one with most; else one drawn by training rows with the
  /// exact exponential mechanism, charged; without noise the one with most of those. Of equal ones the first. A row of
  /// several classes is right where its largest score is of one of them. With `prior`, the same on every rank, scores
  /// are those of both heads. Shapes: as many candidates on every rank; weights and settings matter at the coordinator.
  /// Collective. Phase: choose. Throws as for_each_lattice_chunk and Releaser::select.
  Candidate choose(std::vector<Candidate> candidates, const Prior* prior = nullptr);
  /// The setting that was chosen, at the coordinator; empty where there was nothing to choose.
  const std::string& chosen_setting() const { return chosen_setting_; }

  /// Which public rows stand for each class, by the sum over all rows, prepared as they are now, of their utilities
  /// (prototype_utilities.hpp): drawn with the exact exponential mechanism, charged; without noise the best. The same
  /// on every rank. Where nothing is clipped, ranks of one cluster sum up class sums, which all of them then hold
  /// without noise, and share the public rows; else, and among silos, every rank goes through all public rows with its
  /// own rows. Collective. Phases: utilities, select. Preconditions (asserted): the plan has the selection, and there
  /// are candidates. Throws as for_each_lattice_chunk and Releaser::select.
  const Selection& select_public_rows(const CosineClip& clip);
  /// What that chose; null before.
  const Selection* chosen_public_rows() const { return chosen_public_rows_ ? &*chosen_public_rows_ : nullptr; }
  /// A public row as rows are prepared now; zeros where it has a NaN or an infinity. Throws BadInput where it cannot be
  /// read.
  std::vector<double> candidate_row(std::uint64_t index) const;
  /// All public rows to choose among. Precondition (asserted): there are some.
  WorkerRows& candidates() const;

  /// From the next pass on, every rank keeps its rows in memory as they are prepared now, where they fit into its
  /// --memory, until they change. For methods that pass over rows many times; results are the same.
  void keep_rows() { keeps_rows_for_ = KeptFor::kRounds; }
  /// The same for a pass or two, until rows are projected: rows that are kept after that are then made of these, and
  /// not read again.
  void keep_rows_to_project() { keeps_rows_for_ = KeptFor::kProjection; }

  /// Returns where the rows of all ranks, as they are transformed at first, are those that the run began with
  /// (Releaser::require_same_rows): on any number of ranks, in any order. Collective. Before anything is released.
  /// Cost: a pass over the rows, 8 n d multiply-adds. Preconditions: releases have noise. Throws as
  /// for_each_lattice_chunk; ResumeMismatch where they are others.
  void require_same_rows();

  /// From here on releases, and sums of public rows, are recorded in `log` when they become public; those that it holds
  /// are taken from there, and no row is read for them. `log`, bound, at the coordinator, where it outlives the run;
  /// elsewhere nothing. Collective. Preconditions: releases have noise; one that is made in parts is the last.
  void record_in(ReleaseLog* log);

  /// From here on statistics of training rows are the source's, which outlives the run; this run's own are not read.
  /// Before anything is released. Preconditions (asserted, here or where they would matter): one rank; no samples, no
  /// private choices, no checkpoint, and no releases of each rank's own rows.
  void take_sums_from(StatisticSource& source);

  /// From here on `watcher` is shown every release, as it becomes public. Releases in parts are whole on one
  /// rank only: with more ranks they must not be watched.
  void watch(ReleaseWatcher watcher) { watcher_ = std::move(watcher); }

  /// From here on `observer` is shown, within `together`, every release that is summed over ranks, as it becomes
  /// public, also one that a log held: of a release in parts that is made what all ranks know, its sums. Set at the
  /// coordinator alone.
  void observe(ReleaseWatcher observer) { observer_ = std::move(observer); }

  /// From here on rows are centered by this released mean.
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
  // Shows `visit` this rank's share of `rows`, as they are prepared now. Collective.
  void visit_rows(std::string_view name, WorkerRows& rows, const PublicPoint& point, std::optional<RowSample> sample,
                  const std::function<void(const StatisticInputs&)>& visit);
  const Selection& select_by_class_sums();
  // The statistic that `compute` makes of this rank's share of `rows`, as they are prepared now. Collective.
  Statistic local_statistic(std::string_view name, WorkerRows& rows, const PublicPoint& point,
                            std::optional<RowSample> sample,
                            const std::function<Statistic(const StatisticInputs&)>& compute);
  void keep_rows_now(KeptFor use);
  bool takes_recorded();
  void show_observer(std::string_view name, const Release& release, const PublicPoint& point) const;
  Release release_of_rows(const ReleaseRequest& request, const PublicPoint& point);
  StreamPlan stream_of(const WorkerRows& rows) const;
  std::size_t index_to_go_with(std::span<const LatticeWeights> candidates, const Prior* prior);
  Statistic local_statistic(const ReleaseRequest& request, WorkerRows& rows, const PublicPoint& point,
                            std::optional<RowSample> sample = {});
  std::uint64_t first_row();
  Statistic sum_from_source(const StatisticTask& task);

  Communicator& ranks_;
  WorkerRows& rows_;
  Releaser& releaser_;
  const FitPlan& plan_;
  StreamPlan stream_;
  ProgressOf progress_;
  Timings& timings_;
  RowTransform transform_;
  // Rows that were kept before they were projected.
  struct UnprojectedRows {
    KeptChunks chunks;
    Preprocessing as;
  };

  std::optional<KeptFor> keeps_rows_for_;  // from their next pass on
  std::optional<KeptChunks> kept_;         // rows_ as transform_ prepares them
  std::optional<UnprojectedRows> unprojected_;
  bool rows_are_checked_ = false;  // by a pass over all of rows_
  PublicRows public_rows_;
  std::string chosen_setting_;
  std::optional<Selection> chosen_public_rows_;
  ReleaseWatcher watcher_;
  ReleaseWatcher observer_;                 // at the coordinator
  StatisticSource* source_ = nullptr;       // of sums over training rows, where these are elsewhere
  ReleaseLog* log_ = nullptr;               // at the coordinator
  std::uint64_t recorded_ = 0;              // releases that the log holds and that are still to be taken; on every rank
  std::optional<std::uint64_t> first_row_;  // once a sample has asked for it
};

}  // namespace dpreduce
