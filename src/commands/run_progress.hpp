// The progress of a command that trains, in one run or in many one after the other: one line on standard error, at the
// coordinator, that tells what it does, how far it is, and how long it still takes at the pace of what is done, once
// something is.
//
//     gradient, round 3 of 20: 14 %, 40 s left
//
// On a terminal the line is drawn over itself; in a batch log, or under mpirun, another one comes every 30 s. A thread
// of its own writes it, so that it goes on while the run waits for others.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/ranks/communicator.hpp"
#include "forecast/run_cost.hpp"
#include "run/training_run.hpp"

namespace dpreduce {

class ProgressLine {
 public:
  enum class Form { kNone, kTerminal, kLog };

  /// What standard error is: a terminal or a log.
  static Form form_of_standard_error();

  /// Begins to show a run. `out` outlives it.
  explicit ProgressLine(Form form, std::FILE* out = stderr,
                        std::chrono::milliseconds log_interval = std::chrono::seconds(30));
  ~ProgressLine() { end(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// The run does this now, and `share` of it is done, in [0, 1].
  void show(std::string doing, double share);
  /// Writes no more, and clears the line of a terminal.
  void end();

 private:
  void write_until_stopped(std::chrono::milliseconds interval, const std::stop_token& stop);
  std::string line() const;

  Form form_;
  std::FILE* out_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable_any wakes_;
  std::string doing_;  // guarded by the mutex, as is share_
  double share_ = 0.0;
  std::jthread writer_;  // last: it uses all else
};

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
