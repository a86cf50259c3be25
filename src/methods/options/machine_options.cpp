#include "methods/options/machine_options.hpp"

#include "common/base/option_checks.hpp"

namespace dpreduce {

void check(const MachineOptions& machine) {
  require_option_between("--threads", machine.threads, 0, kMostThreads);
  if (machine.memory_mib) {
    require_option_between("--memory", static_cast<double>(*machine.memory_mib), 1,
                           static_cast<double>(kMostMemoryMib));
  }
}

}  // namespace dpreduce
