#include "fit/default_threads.hpp"

#include <algorithm>
#include <thread>

#include "common/ranks/lifetime.hpp"

namespace dpreduce {

unsigned default_threads() {
  return launched_by_mpi() ? 1U : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace dpreduce
