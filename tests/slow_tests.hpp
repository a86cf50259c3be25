// Of some tests a long form exists: all stories, all methods, all sizes. ctest runs the same program once more for it,
// under the label `slow` and with this variable set.
#pragma once

#include <cstdlib>

namespace dpreduce {

inline bool runs_slow_tests() {
  return std::getenv("DPREDUCE_SLOW_TESTS") != nullptr;
}

}  // namespace dpreduce
