// The progress of a command that trains: of one run, or of many one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "commands/progress_line.hpp"
#include "common/ranks/communicator.hpp"
#include "forecast/run_pace.hpp"
#include "run/training_run.hpp"

namespace dpreduce {

/// The job of this rank, whose rows are `rows_here`. At the coordinator it has the rows of all ranks; elsewhere 0.
/// Among silos nobody may add them up: each is taken to have as many as a usual one. Collective.
JobShape shape_of_job(std::uint64_t rows_here, unsigned threads, Communicator& ranks);

/// A run that will be shown.
struct ShownRun {
  std::string label;  ///< before what it does; empty where there is one run
  std::vector<PhaseWork> phases;
};

class RunProgress {
 public:
  /// Of runs in the order in which they are made; there is at least one.
  RunProgress(ProgressLine::Form form, const std::vector<ShownRun>& runs);

  /// The next run begins; to be called for the first one, too.
  void begin_run();
  /// Something of the run begins that is no pass of its training, "test" for one.
  void begin(std::string_view pass);
  /// Nothing is shown any more.
  void end() { line_.end(); }
  /// What the run is to be trained with (TrainingTerms::progress); refers to this object.
  ProgressOf of_passes();

 private:
  struct Run {
    std::string label;
    RunPace pace;
    double begins = 0.0;  // share of all runs before it
    double share = 0.0;   // of all runs
  };
  void show();

  std::vector<Run> runs_;
  std::size_t begun_ = 0;
  ProgressLine line_;
};

/// Testing a classifier of K classes and d features on so many rows: a phase that the cost model does not have.
PhaseWork test_work(std::uint64_t rows, std::size_t classes, std::size_t dim);

}  // namespace dpreduce
