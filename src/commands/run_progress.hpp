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
#include <map>
#include <mutex>
#include <thread>

#include "methods/prepared_rows.hpp"

namespace dpreduce {

/// Progress of a run in each of its phases, which may have rounds.
class RunProgress {
 public:
  enum class Form { kNone, kTerminal, kLog };
  using Clock = std::chrono::steady_clock;
  using RoundsOfPhases = std::map<std::string, std::uint64_t, std::less<>>;

  /// Kind of standard error: a terminal or a log.
  static Form form_of_standard_error();

  /// Takes the number of `rounds` that are planned of each phase, by its name. `out` outlives the progress.
  RunProgress(Form form, RoundsOfPhases rounds, std::FILE* out = stderr,
              std::chrono::milliseconds log_interval = std::chrono::seconds(30));
  ~RunProgress() { end(); }
  RunProgress(const RunProgress&) = delete;
  RunProgress& operator=(const RunProgress&) = delete;

  /// Begins a pass over rows, for the phase of that name: its next round. One that is not planned is a phase by itself;
  /// "test" for one is no pass of the training.
  void begin(std::string_view pass);
  /// Notes that `share` of the rows of that pass are done, in [0, 1].
  void advance(double share);
  /// Writes no more, and clears the line of a terminal.
  void end();
  /// Callbacks that the run is to be trained with (TrainingTerms::progress); refers to this object.
  ProgressOf of_passes();

  /// The line that is shown at that time, once a pass has begun. Precondition: no other thread writes it.
  std::string line(Clock::time_point now) const;

 private:
  void write_until_stopped(std::chrono::milliseconds interval, const std::stop_token& stop);

  Form form_;
  RoundsOfPhases planned_;
  std::FILE* out_;
  std::mutex mutex_;
  std::condition_variable_any wakes_;
  std::string phase_;     // guarded by the mutex, as are the next four
  double rounds_ = 1.0;   // of the phase
  double started_ = 0.0;  // of them
  double share_ = 0.0;    // of the phase, that is done
  Clock::time_point began_{};
  std::jthread writer_;  // last: it uses all else
};

/// "40 s", "7 min", "2 h 10 min".
std::string print_duration(double seconds);

}  // namespace dpreduce
