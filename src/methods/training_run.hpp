// Training run as a method sees it: releases of statistics over all ranks' rows, one after the other.
//
//     release(name)         = this rank's statistic of its rows  ->  noise, ledger, reduction (aggregator/release)
//     sum_public(name)      = this rank's statistic of its public rows  ->  reduction over ranks
//     rows()                = the training rows in their current preparation
//     choose(candidates)    = correct rows of each  ->  the best on public rows, or a private choice
//     select_public_rows()  = utilities of all public rows  ->  a private choice for each class
//
// A method reaches rows only through its run. It therefore cannot read anything without noise, and its releases are all
// that a resumed run needs: saved releases are used, and no row is read for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/release/release.hpp"
#include "common/ledger/statistic.hpp"
#include "common/ranks/communicator.hpp"
#include "methods/fit_plan.hpp"
#include "methods/prepared_rows.hpp"
#include "methods/timings.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce {

/// Public rows of a rank; null if absent.
struct PublicRows {
  WorkerRows* features = nullptr;    ///< without labels
  WorkerRows* validation = nullptr;  ///< with labels
  WorkerRows* candidates = nullptr;  ///< without labels; opened as all of them on every rank
};

/// Candidate classifier, one of several that the same releases give.
struct Candidate {
  std::string setting;                ///< name in reports
  std::vector<double> weights;        ///< K x d, d counting an intercept, in the coordinates of prepared rows
  std::optional<double> threshold{};  ///< of its scores, if candidates differ in it; the same on every rank
};

/// Function called at the rank that owns the class, with its released Gram matrix (upper triangle), and with the
/// blocks beside the matrices: gram (if it is released) and class_sums. Returns the numbers that are made from these,
/// equally many for every class.
using OnClassGram =
    std::function<std::vector<double>(const Release& sums, std::size_t label, const ReleasedBlock& class_gram)>;

/// Name under which observers are shown the matrices of "class_least_squares", if a method keeps them.
inline constexpr std::string_view kWholeClassGrams = "class_grams";

/// Number of Gram matrices that a rank sums up before their reductions begin; as many may be in transit meanwhile.
inline constexpr std::size_t kGramsAtOnce = 4;

/// Release as it becomes public, and the public point at which its statistic was computed.
struct WatchedRelease {
  std::string_view name;
  const Release& release;
  const Preprocessing& preprocessing;  ///< of the rows that were summed
  PublicPoint point;
};

/// Function that is shown a release as it becomes public.
using ReleaseWatcher = std::function<void(const WatchedRelease&)>;

/// Observers of a run, and the source of its sums if that is not this rank's rows.
struct RunSides {
  /// Shown every release as it becomes public. Releases in parts are whole on one rank only: with more ranks such
  /// releases must not be watched.
  ReleaseWatcher watcher{};
  /// Shown, within `together`, every release that is summed over ranks as it becomes public, including saved ones:
  /// for a release in parts its sums, which all ranks know. At the coordinator alone.
  ReleaseWatcher observer{};
  StatisticSource* source = nullptr;  ///< of sums over training rows that are elsewhere (PreparedRows)
};

/// Run of a method on one rank: its releases, its rows, and its choices with their results.
class TrainingRun {
 public:
  /// Makes the run of one rank. All references outlive the run, and so do public rows.
  TrainingRun(Communicator& ranks, WorkerRows& rows, Releaser& releaser, const FitPlan& plan, const StreamPlan& stream,
              ProgressOf progress, Timings& timings, const PublicRows& public_rows = {}, RunSides sides = {});

  /// Makes the next round of the release `name`, of a sample of the rows if the plan has one. Returns the release at
  /// the coordinator; other ranks get a release without blocks. The statistic is computed at `point`, the same on
  /// every rank. Collective: all ranks stop soon after one fails. Throws as for_each_lattice_chunk and
  /// Releaser::release.
  Release release(std::string_view name, const PublicPoint& point = {});

  /// Makes the next round of the release `name` separately on each rank, from the rank's own rows, at a point of its
  /// own, with noise of its own (Releaser::release_of_each_rank). Returns on every rank its own release. Collective:
  /// all ranks make it at the same time, and stop soon after one fails. Precondition (asserted): with more ranks
  /// there is no watcher. Throws as release.
  Release release_of_own_rows(std::string_view name, const PublicPoint& point);

  /// Charges the next round of the release `name`, which the method does not make because of its earlier releases
  /// (Releaser::charge_unmade). Collective.
  void charge_unmade(std::string_view name) { releaser_.charge_unmade(name); }

  /// Returns, at the coordinator, the exact sum of that statistic over the public rows of all ranks, in the current
  /// preparation of training rows; elsewhere without blocks. The sum costs nothing, because it says nothing about
  /// training rows. Collective. Precondition (asserted): there are public rows. Throws as for_each_lattice_chunk.
  Release sum_public(std::string_view name);

  /// Makes the release "class_least_squares", class by class, in memory that does not grow with the number of
  /// classes, except for what is made of them. `on_gram` is called for each class, at one of the ranks: a matrix is
  /// dropped when `on_gram` returns. It may not call a collective, nor show anything: all of it is one release, which
  /// is charged and saved after the last class. Returns at the coordinator, K x width, the results of on_gram for
  /// each class. For a saved release it is not called, and no row is read. Phases: sums, gram, reduce, solve.
  /// Collective; errors as release, and BadInput if files change while they are read. Memory of a rank: that of the
  /// stream, 8 d^2 + 8 d^2 min(P, kGramsAtOnce) + 8 d^2 for released matrices, and the memory of `on_gram`; at the
  /// coordinator 8 K width.
  std::vector<double> release_class_grams(std::size_t width, const OnClassGram& on_gram);

  /// Makes that release and keeps its matrices. The observer is shown them, at the coordinator, after the release, as
  /// the block class_grams of a release named kWholeClassGrams. Collective. Memory at the coordinator: 8 K d^2 bytes.
  void keep_class_grams();

  /// Returns a decision, a number, that a run file saves (Releaser::decision).
  double decision(const std::string& name, const std::function<double()>& decide) {
    return releaser_.decision(name, decide);
  }

  // Choices by rows: one of several classifiers from the same releases, and public rows as prototypes of classes.

  /// Returns the candidate to continue with, its weights the same on every rank; a single candidate is returned as it
  /// is. The choice is by the number of rows, in their current preparation, that each candidate predicts correctly.
  /// With validation rows the choice is the candidate with most correct rows; otherwise a candidate drawn by training
  /// rows with the exact exponential mechanism, charged; without noise the candidate with most correct training rows.
  /// The first of equal candidates is chosen. A row of several classes is correct if its largest score belongs to one
  /// of them. With `prior`, the same on every rank, scores are those of both heads. Shapes: as many candidates on
  /// every rank; weights and settings matter at the coordinator. Collective. Phase: choose. Throws as
  /// for_each_lattice_chunk and Releaser::select.
  Candidate choose(std::vector<Candidate> candidates, const Prior& prior = {});
  /// Notes, for reports, a setting that a method has chosen by its earlier releases.
  void note(std::string setting) { chosen_setting_ = std::move(setting); }
  /// Returns the chosen setting, at the coordinator; empty if there was nothing to choose.
  const std::string& chosen_setting() const { return chosen_setting_; }

  /// Chooses the public rows that are the prototypes of each class, by the sum of their utilities (utilities.hpp)
  /// over all rows in their current preparation. The choice is drawn with the exact exponential mechanism, and
  /// charged; without noise it is the best. The same on every rank. If nothing is clipped, ranks of one cluster sum
  /// up class sums, which all of them then hold without noise, and share the public rows. Otherwise, and among silos,
  /// every rank passes over all public rows with its own rows. Collective. Phases: utilities, select. Preconditions
  /// (asserted): the plan has the selection, and there are candidates. Throws as for_each_lattice_chunk and
  /// Releaser::select.
  const Selection& select_public_rows(const CosineClip& clip);
  /// Returns the result of select_public_rows; nullopt before it.
  const std::optional<Selection>& chosen_public_rows() const { return chosen_public_rows_; }
  /// Returns a public row in the current preparation of rows; zeros if the row has a NaN or an infinity. Throws
  /// BadInput if the row cannot be read.
  std::vector<double> candidate_row(std::uint64_t index) const;
  /// Returns all public rows to choose among. Precondition (asserted): there are some.
  WorkerRows& public_candidates() const;

  /// Scores at which rounds begin, one a class, the same for every row; empty: 0. Known at the coordinator.
  void set_first_scores(std::vector<double> scores) { first_scores_ = std::move(scores); }
  const std::vector<double>& first_scores() const { return first_scores_; }

  PreparedRows& rows() { return rows_; }
  Communicator& ranks() { return ranks_; }
  void end_phase(const std::string& phase) { timings_.end_phase(phase); }

 private:
  void show_observer(std::string_view name, const Release& release, const PublicPoint& point) const;
  Release release_of_rows(const ReleaseRequest& request, const PublicPoint& point);
  const Selection& select_by_class_sums();
  std::size_t index_to_go_with(std::span<const LatticeWeights> candidates, const Prior& prior);
  NamedIntegers made_class_grams(std::size_t width, const OnClassGram& on_gram);

  Communicator& ranks_;
  Releaser& releaser_;
  const FitPlan& plan_;
  Timings& timings_;
  PreparedRows rows_;
  PublicRows public_rows_;
  std::string chosen_setting_;
  std::optional<Selection> chosen_public_rows_;
  std::vector<double> first_scores_;
  RunSides sides_;
};

}  // namespace dpreduce
