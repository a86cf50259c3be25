// The ranks of an MPI job, all trusted: plain collectives.
#pragma once

#include <memory>

#include "common/ranks/job.hpp"

namespace dpreduce {

struct JoinedJob {
  std::unique_ptr<Job> job;
  int rank = 0;
  int size = 1;
};

/// Starts MPI. Once a process; the job's end is MPI's. Throws AggregationAborted where MPI does not start.
JoinedJob join_mpi_job();

/// Throws AggregationAborted naming the routine unless `status` is MPI_SUCCESS.
void check_mpi(int status, const char* routine);

}  // namespace dpreduce
