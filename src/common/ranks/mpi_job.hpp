// The ranks of an MPI job, all trusted: plain collectives.
#pragma once

#include <memory>
#include <string>

#include "common/ranks/communicator.hpp"

namespace dpreduce {

struct JoinedJob {
  std::unique_ptr<Job> job;
  int rank = 0;
  int size = 1;
};

/// Kind of a process at its start: a rank that does the work itself, or the parent of a party. The kind must be known
/// before MPI is started.
enum class JobKind { kTrustedRanks, kSilos };

/// Starts MPI, and ends it with the job; where the program has started MPI itself, its end is the program's. Throws
/// AggregationAborted where MPI does not start, or has ended already; and as begin_mpi where ranks are not of one kind.
JoinedJob join_mpi_job(const std::string& doubt = {});

/// Starts MPI for calls by that kind of threads (MPI_THREAD_...), so that Open MPI takes nothing from other users of
/// the machine: its segments of shared memory lie in a private folder, where they would have names in /dev/shm that
/// others can guess, and make first; without HOME it would load components from a folder "(null)" of the current one.
/// Throws AggregationAborted where MPI does not start, BadInput where there is no room for a private folder.
///
/// Then, collective over all processes of the job, the first of its calls: if they are not of one kind, rank 0 prints
/// this, and all end MPI and throw PeerFailed with the code of a UsageError. `doubt` is why this process cannot
/// determine its kind; empty if it can. A process in doubt never goes on, whatever the others report: the lowest of
/// them prints its doubt, and all throw PeerFailed, with that rank and the code of a UsageError.
void begin_mpi(int threads, JobKind kind, const std::string& doubt = {});

/// Ends MPI, and what begin_mpi has made.
void end_mpi();

/// Throws AggregationAborted naming the routine unless `status` is MPI_SUCCESS.
void require_mpi(int status, const char* routine);

}  // namespace dpreduce
