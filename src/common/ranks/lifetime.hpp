// How a process of the job ends when it does not end by itself: Ctrl-C, a kill by the launcher, a rank that is lost.
//
// Under a launcher every rank is two processes: a guard, which the launcher started, and its child, which works. A
// worker that is killed (kill -9, the kernel's out-of-memory killer, a crash) is reported by its guard with the
// documented exit code; the launcher, which would have made 137 of it, sees an ordinary exit and ends the other ranks
// at once. A worker whose guard is killed is killed with it.
#pragma once

#include <functional>
#include <optional>

#include <sys/types.h>

namespace dpreduce {

/// Whether mpirun, srun or another PMI launcher started this process.
bool launched_by_mpi();

/// Returns 0 in a new child, the worker, and its process number in this process, which becomes its guard: signals are
/// passed on to the worker, which dies with its guard and ends on a signal as run_guarded says. Nothing where there is
/// no child, with a line on standard error.
std::optional<pid_t> fork_worker(void (*before_the_end)() noexcept);

/// Runs `job` to its exit code: in this process without a launcher, in a guarded child under one. Call it before MPI,
/// threads or files. Also sets what SIGINT and SIGTERM do: the process ends at once with ExitCode::kInterrupted (alone)
/// or ExitCode::kAggregationAborted (told to by the launcher). SIGPIPE and
/// SIGXFSZ become ordinary write errors.
/// `before_the_end` is called on the way out of such a signal, so it must be async-signal-safe.
int run_guarded(const std::function<int()>& job, void (*before_the_end)() noexcept);

}  // namespace dpreduce
