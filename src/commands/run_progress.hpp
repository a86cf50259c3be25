// Progress of a run that trains: one line on standard error, at the coordinator. It shows what the run does, how far it
// is with that, at which rate it goes on, and how long that still takes at this rate, once something is done.
//
//     gradient, round 3 of 20 [####--------------------------] 14 %, 0.43 rounds/s, 40 s left
//
// On a terminal the line has a bar, and is drawn over itself; in a batch log, or under mpirun, another one comes every
// 30 s. A thread of its own writes it, so that it goes on while the run waits for others.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "methods/fit_plan.hpp"
#include "methods/prepared_rows.hpp"

namespace dpreduce {

class ProgressLine {
 public:
  enum class Form { kNone, kTerminal, kLog };

  /// Kind of standard error: a terminal or a log.
  static Form form_of_standard_error();

  /// Begins to show a run. `out` outlives it.
  explicit ProgressLine(Form form, std::FILE* out = stderr,
                        std::chrono::milliseconds log_interval = std::chrono::seconds(30));
  ~ProgressLine() { end(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  using Clock = std::chrono::steady_clock;

  /// Shows that the run does this now, since `began`, and that `share` of it is done, in [0, 1]. What has `rounds` has
  /// its rate in these.
  void show(std::string doing, double share, Clock::time_point began, double rounds = 1.0);
  /// Writes no more, and clears the line of a terminal.
  void end();

 private:
  void write_until_stopped(std::chrono::milliseconds interval, const std::stop_token& stop);
  std::string line() const;

  Form form_;
  std::FILE* out_;
  std::mutex mutex_;
  std::condition_variable_any wakes_;
  std::string doing_;  // guarded by the mutex, as are the next three
  double share_ = 0.0;
  double rounds_ = 1.0;
  Clock::time_point began_{};
  std::jthread writer_;  // last: it uses all else
};

/// "40 s", "7 min", "2 h 10 min".
std::string print_duration(double seconds);

/// Progress of a run in each of its phases, which may have rounds, and its line.
class RunProgress {
 public:
  using RoundsOfPhases = std::map<std::string, std::uint64_t, std::less<>>;

  RunProgress(ProgressLine::Form form, const FitPlan& plan);
  /// Takes the number of `rounds` that are planned of each phase, by its name.
  RunProgress(ProgressLine::Form form, RoundsOfPhases rounds) : planned_(std::move(rounds)), line_(form) {}

  /// Begins a pass over rows, for the phase of that name: its next round. One that is not planned is a phase by itself;
  /// "test" for one is no pass of the training.
  void begin(std::string_view pass);
  /// Notes that `share` of the rows of that pass are done, in [0, 1].
  void advance(double share);
  /// Ends the progress: nothing is shown any more.
  void end() { line_.end(); }
  /// Callbacks that the run is to be trained with (TrainingTerms::progress); refers to this object.
  ProgressOf of_passes();

  /// Work that the run does now: "gradient, round 3 of 20"; empty before the first pass.
  std::string doing() const;
  /// Returns the share of the phase that is done, in [0, 1].
  double share() const { return share_; }
  /// Returns the time at which the phase began.
  ProgressLine::Clock::time_point began() const { return began_; }

 private:
  RoundsOfPhases planned_;
  std::string phase_;
  double rounds_ = 1.0;   // of the phase
  double started_ = 0.0;  // of them
  double share_ = 0.0;
  ProgressLine::Clock::time_point began_{};
  ProgressLine line_;
};

}  // namespace dpreduce
