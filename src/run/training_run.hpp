// One training run as a method sees it: releases of statistics of everybody's rows, one after the other.
//
//     release(name)         = this rank's statistic of its rows  ->  noise, ledger, reduction (aggregator/release)
//     sum_public(name)      = this rank's statistic of its public rows  ->  reduction over ranks
//     rows()                = the training rows as they are prepared now (prepared_rows.hpp)
//     choices()             = what is chosen by rows: a setting, public rows (choices_of_run.hpp)
//
// It is the only way from rows to a method. So a method cannot look at anything without noise, and a log of the
// releases is all that a run needs to go on (release_log.hpp).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/release/release.hpp"
#include "run/choices_of_run.hpp"
#include "run/fit_plan.hpp"
#include "run/prepared_rows.hpp"
#include "run/timings.hpp"

namespace dpreduce {

class ReleaseLog;

/// Called at the rank that owns the class, with its released Gram matrix (upper triangle); returns what is made of it,
/// as many numbers for every class.
using OnClassGram = std::function<std::vector<double>(std::size_t label, const ReleasedBlock& gram)>;

/// How many Gram matrices a rank sums up before their reductions begin; as many may be on their way meanwhile.
inline constexpr std::size_t kGramsAtOnce = 4;

/// A release as it becomes public, and the public point that its statistic was taken at.
struct WatchedRelease {
  std::string_view name;
  const Release& release;
  const Preprocessing& preprocessing;  ///< of the rows that were summed
  PublicPoint point;
};

using ReleaseWatcher = std::function<void(const WatchedRelease&)>;

/// Who looks on, and where sums come from, where it is not this rank's rows.
struct RunSides {
  /// Shown every release as it becomes public. Releases in parts are whole on one rank only: with more ranks they must
  /// not be watched.
  ReleaseWatcher watcher{};
  /// Shown, within `together`, every release that is summed over ranks, as it becomes public, also one that a log held:
  /// of a release in parts that is made what all ranks know, its sums. At the coordinator alone.
  ReleaseWatcher observer{};
  StatisticSource* source = nullptr;  ///< of sums over training rows that are elsewhere (PreparedRows)
};

class TrainingRun {
 public:
  /// All references outlive the run, and so do public rows.
  TrainingRun(Communicator& ranks, WorkerRows& rows, Releaser& releaser, const FitPlan& plan, const StreamPlan& stream,
              ProgressOf progress, Timings& timings, const PublicRows& public_rows = {}, RunSides sides = {});

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

  /// From here on releases, and sums of public rows, are recorded in `log` when they become public; those that it holds
  /// are taken from there, and no row is read for them. `log`, bound, at the coordinator, where it outlives the run;
  /// elsewhere nothing. Collective. Preconditions: releases have noise; one that is made in parts is the last.
  void record_in(ReleaseLog* log);

  PreparedRows& rows() { return rows_; }
  ChoicesOfRun& choices() { return choices_; }
  Communicator& ranks() { return ranks_; }
  void end_phase(const std::string& phase) { timings_.end_phase(phase); }

 private:
  bool takes_recorded();
  void show_observer(std::string_view name, const Release& release, const PublicPoint& point) const;
  Release release_of_rows(const ReleaseRequest& request, const PublicPoint& point);

  Communicator& ranks_;
  Releaser& releaser_;
  const FitPlan& plan_;
  Timings& timings_;
  PreparedRows rows_;
  ChoicesOfRun choices_;
  WorkerRows* public_features_;  // null where there are none
  RunSides sides_;
  ReleaseLog* log_ = nullptr;   // at the coordinator
  std::uint64_t recorded_ = 0;  // releases that the log holds and that are still to be taken; on every rank
};

}  // namespace dpreduce
