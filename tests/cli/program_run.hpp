// Runs the program, alone or on ranks, and keeps what its users would see: exit code, output, time.
//
// Most runs are forks of this process that call what main calls (commands/job.hpp), with threads for ranks and forks
// for silos: a start of the program costs 0.16 seconds of processor time, 0.9 on two ranks under mpirun, most of it for
// libraries. The built program runs where a test is about processes (MPI, signals, what a launcher sets), and once for
// each kind of whole path.
#pragma once

#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/types.h>

#include "tests/testing.hpp"

namespace dpreduce {

using Strings = std::vector<std::string>;

/// By when a run that is refused, or whose ranks were killed, has ended. That it ends is tested, not how fast it does:
/// other tests run beside it.
inline constexpr double kSecondsToEnd = 20.0;

/// What a run is.
enum class Form {
  kFork,    ///< of this process, which must have no threads of its own
  kProgram  ///< the built program, under mpirun where there are ranks
};

/// Root may read and write every file; a test of permissions has to take that power away.
enum class Privileges { kOwn, kNone };

struct RunOptions {
  std::string folder = {};        ///< working directory
  int ranks = 0;                  ///< 0: alone, without a launcher
  Form form = Form::kFork;        ///< kProgram where only that will do (RunningProgram)
  Strings launcher_options = {};  ///< further arguments for mpirun
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< beside what this process has
  std::optional<rlim_t> largest_file = {};                            ///< bytes; stands in for a full disk
  double first_rank_late_seconds = 0.0;                               ///< rank 0 starts that long after the others
  Privileges privileges = Privileges::kOwn;
  bool keeps_files = false;       ///< else commands that write files get --overwrite: tests run in one folder often
  double timeout_seconds = 60.0;  ///< then everything that the run started is killed
};

struct ProgramRun {
  int exit_code = -1;  ///< 128 + signal where one ended the program
  std::string out;
  std::string err;
  double seconds = 0.0;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// A program that has been started and not yet waited for. On ranks that read HDF5 files (Debian's library is not for
/// threads) or that a ":" gives words of their own, unless they are silos, with options that are about processes, and
/// where another program is tested, it is the built program whatever `options.form` says.
class RunningProgram {
 public:
  RunningProgram(const Strings& arguments, const RunOptions& options);
  ~RunningProgram();  ///< kills what is left of it
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  /// The program, or mpirun where there are ranks.
  pid_t pid() const { return pid_; }
  /// In the environment of every process of this run that is a program of its own, and of no other.
  const std::string& mark() const { return mark_; }
  /// Waits for the end. Call it once.
  ProgramRun finish();

 private:
  void kill_all() const;

  std::string mark_;
  double timeout_seconds_;
  double started_;
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
};

/// The program that is run.
std::string program_path();

/// Runs to the end.
ProgramRun run_program(const Strings& arguments, const RunOptions& options);

/// Seconds of a clock that never goes back.
double seconds_now();

/// Looks again and again until it is so. Whether that was so within the time.
bool is_so_within(double seconds, const std::function<bool()>& is_so);

/// "--mu 0.5" -> {"--mu", "0.5"}. A space within an argument is written as ~.
Strings split_arguments(const std::string& text);

/// `first`, then `second`.
Strings joined(Strings first, const Strings& second);

Strings lines_of(const std::string& text);

/// The lines of standard error that are the program's own, not a launcher's.
Strings messages_in(const std::string& text);

/// Those lines of a ledger's text that charge a release.
Strings charges_in(const std::string& text);

}  // namespace dpreduce
