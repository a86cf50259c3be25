#pragma once

#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// The ranks that mpirun started this test with.
Communicator& test_ranks();

}  // namespace dpreduce
