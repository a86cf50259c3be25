#pragma once

#include "dpreduce/transport/communicator.hpp"

namespace dpreduce {

/// The ranks that mpirun started this test with.
Communicator& test_ranks();

}  // namespace dpreduce
