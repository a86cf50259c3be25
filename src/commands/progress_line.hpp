// One line on standard error for a whole run, at the coordinator: what it does, how far it is, how long it still takes
// at the pace of what is done; that is left out while nothing is.
//
//     gradient, round 3 of 20: 14 %, 40 s left
//
// On a terminal the line is drawn over itself; in a batch log, or under mpirun, another one comes every 30 s. A thread
// of its own writes it, so that it goes on while the run waits for others.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

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

}  // namespace dpreduce
