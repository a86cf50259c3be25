// Abnormal end of a process of the job: by Ctrl-C, by a kill from the launcher, or because a rank is lost.
//
// Under a launcher every rank is two processes: a guard, which the launcher started, and its child, which works. A
// worker that is killed (kill -9, the kernel's out-of-memory killer, a crash) is reported by its guard with the
// documented exit code. The launcher sees that ordinary exit, where it would have reported 137, and ends the other
// ranks at once. A worker whose guard is killed is killed with it.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace dpreduce {

/// Returns whether mpirun, srun or another PMI launcher started this process.
bool launched_by_mpi();

/// Threads of a process where the user names no number: one under a launcher, else one a processor.
unsigned default_threads();

/// Throws UsageError if a launcher reports that it has started several processes, but this one is alone in its job.
/// Each of them would do and charge a full run. Does not throw if the environment has DPREDUCE_SINGLE_PROCESS=1, by
/// which a user declares single processes.
void require_single_process();

/// Sets the line that this process prints on standard error if a signal ends it: what its run has charged, and how to
/// resume. Empty: nothing. At most kLongestLastWords bytes of it are kept. Of one thread at a time.
void report_when_ended(std::string_view last_words);
inline constexpr std::size_t kLongestLastWords = 1023;

/// Forks a worker. Returns 0 in the new child, which is the worker, and the child's process number in this process,
/// which becomes its guard. The guard passes signals on to the worker; the worker dies with its guard, and ends on a
/// signal as run_guarded says. Returns nothing, after a line on standard error, where no child can be made.
std::optional<pid_t> fork_worker(void (*before_the_end)() noexcept);

/// Returns whether a guard has had a signal to pass on: as a rule, since the launcher ends the job.
bool is_told_to_end();

/// Runs `job` to its exit code: in this process without a launcher, in a guarded child under one. Call it before MPI,
/// threads or files. Also sets what SIGINT and SIGTERM do: the process ends at once with ExitCode::kInterrupted (alone)
/// or ExitCode::kAggregationAborted (told to by the launcher). SIGPIPE and
/// SIGXFSZ become ordinary write errors.
/// `before_the_end` is called on the way out of such a signal, so it must be async-signal-safe.
int run_guarded(const std::function<int()>& job, void (*before_the_end)() noexcept);

}  // namespace dpreduce
