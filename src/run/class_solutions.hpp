// What a method makes of each class of a release in parts (TrainingRun::release_class_grams), gathered at the
// coordinator, and in the log of the run as it becomes known.
//
// It is post-processing of what has been charged and noised, and so as public as the matrices are that it was made of,
// and much smaller. A run that goes on takes from the log the classes that are there; the others get the noise that
// they would have had: it is derived from charge, rows and class (part_release.hpp), never drawn anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "common/plan/noise_plan.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

class ReleaseLog;

class ClassSolutions {
 public:
  /// `width` numbers a class. The next `recorded` entries of the log, the same number on every rank, are taken from it.
  /// `log`, at the coordinator, may be null; `planned` is then not used. Collective. Throws as ReleaseLog::next_part;
  /// BadInput where an entry holds no solutions of classes.
  ClassSolutions(Communicator& ranks, std::size_t classes, std::size_t width, const PlannedRelease* planned,
                 ReleaseLog* log, std::uint64_t recorded);

  /// The classes among these that have no solution yet; the same on every rank.
  std::vector<std::size_t> left_of(std::vector<std::size_t> order) const;

  /// This rank's class of the round, at most one. Preconditions (asserted): `width` numbers; the class has none yet.
  void add(std::size_t label, std::vector<double> solution);

  /// Brings what ranks have added to the coordinator, and into the log. Collective. Wire: P (width + 1) words. Throws
  /// as ReleaseLog::record_part.
  void end_round();

  /// K x width at the coordinator; zeros where a class has none. Elsewhere nothing. Once.
  std::vector<double> take() { return std::move(all_); }

 private:
  void take_recorded(std::uint64_t recorded);

  Communicator& ranks_;
  std::size_t width_;
  const PlannedRelease* planned_;
  ReleaseLog* log_;
  std::vector<std::byte> is_known_;  // of each class, on every rank, as the run began
  std::vector<double> all_;          // at the coordinator
  std::optional<std::pair<std::size_t, std::vector<double>>> own_;
};

}  // namespace dpreduce
