// The parent of a party among silos (party_process.hpp), under a launcher.
#pragma once

#include <functional>

#include "common/silos/wire.hpp"

namespace dpreduce {

/// Runs `party` in a child process, and is its parent: the MPI process of the rank, which waits for it and then leaves
/// MPI together with the others. Returns the exit code of this process. At rank 0 it is the party's, or 5 where the
/// party was killed. Elsewhere it is 0, since a lost silo does not fail the job, or 5 where the coordinator is lost. It
/// is 2 on every rank, with one message, where some processes were not started as parties of silos.
///
/// A party that goes on five seconds after the coordinator's has ended is killed, and so is a coordinator's that hangs
/// where every silo has given it up. A parent that is itself lost ends the job, as MPI would have it, unless the
/// launcher lets jobs go on without some of their processes (mpirun --enable-recovery); its party is then killed, and
/// lost.
///
/// Call it before MPI, threads or files. Precondition: launched_by_mpi(). `before_the_end` as in run_guarded.
int run_with_parent(const std::function<int(const JobPlace&)>& party, void (*before_the_end)() noexcept);

}  // namespace dpreduce
