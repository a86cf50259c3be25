// What a run chooses by rows: one of several classifiers that the same releases give, and public rows that stand for
// classes.
//
//     choose(candidates)    = correct rows of each  ->  the best on public rows, or a private choice
//     select_public_rows()  = utilities of all public rows  ->  a private choice for each class
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregator/release/release.hpp"
#include "common/lattice/cosine_clip.hpp"
#include "run/prepared_rows.hpp"

namespace dpreduce {

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

class ChoicesOfRun {
 public:
  /// All references outlive it, and so do public rows.
  ChoicesOfRun(Communicator& ranks, PreparedRows& rows, Releaser& releaser, const FitPlan& plan, Timings& timings,
               const PublicRows& public_rows)
      : ranks_(ranks), rows_(rows), releaser_(releaser), plan_(plan), timings_(timings), public_rows_(public_rows) {}

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

 private:
  const Selection& select_by_class_sums();
  std::size_t index_to_go_with(std::span<const LatticeWeights> candidates, const Prior* prior);

  Communicator& ranks_;
  PreparedRows& rows_;
  Releaser& releaser_;
  const FitPlan& plan_;
  Timings& timings_;
  PublicRows public_rows_;
  std::string chosen_setting_;
  std::optional<Selection> chosen_public_rows_;
};

}  // namespace dpreduce
