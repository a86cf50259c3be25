// The error of a rank that has made none itself.
#pragma once

#include <string>

#include "common/base/error.hpp"

namespace dpreduce {

/// Another rank failed and prints the reason; this one ends with the same code and says nothing.
struct PeerFailed : Error {
  PeerFailed(ExitCode code, int failed_rank)
      : Error(code, "rank " + std::to_string(failed_rank) + " failed"), rank(failed_rank) {}
  int rank;
};

}  // namespace dpreduce
