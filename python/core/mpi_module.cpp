#include "core/mpi_module.hpp"

#include "common/ranks/mpi_job.hpp"
#include "common/ranks/party_parent.hpp"

extern "C" const dpreduce::MpiModule* dpreduce_mpi_module() {
  static constexpr dpreduce::MpiModule kModule{dpreduce::join_mpi_job, dpreduce::run_with_parent};
  return &kModule;
}
