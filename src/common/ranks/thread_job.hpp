// Ranks that are threads of this process: what several ranks do can be seen without a launcher.
#pragma once

#include <memory>
#include <vector>

#include "common/ranks/job.hpp"

namespace dpreduce {

/// The jobs of `size` ranks, each for a thread of its own. They share memory, and mean what MPI's do. A rank that has
/// gone away (its job is destroyed) leaves none waiting: collectives of the others throw PeerFailed from then on.
/// Precondition (asserted): size >= 1.
std::vector<std::unique_ptr<Job>> make_thread_jobs(int size);

}  // namespace dpreduce
