#include "core/mpi_module.hpp"

#include "common/ranks/relay.hpp"

extern "C" const dpreduce::MpiModule* dpreduce_mpi_module() {
  static constexpr dpreduce::MpiModule kModule{dpreduce::join_mpi_job, dpreduce::run_with_relay};
  return &kModule;
}
