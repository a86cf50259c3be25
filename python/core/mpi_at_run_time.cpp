// join_mpi_job and run_with_parent of a program that loads MPI when it needs it.
#include <cstdio>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/ranks/mpi_job.hpp"
#include "common/ranks/party_parent.hpp"
#include "core/mpi_module.hpp"

namespace dpreduce {
namespace {

// Throws AggregationAborted where the module, or the MPI library that it needs, is not there.
const MpiModule& loaded_module() {
  static const MpiModule* const module = [] {
    Dl_info self{};
    dladdr(reinterpret_cast<void*>(&join_mpi_job), &self);
    const auto path = std::filesystem::path(self.dli_fname).replace_filename(kMpiModule);
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      throw AggregationAborted(fmt::format(
          "a launcher has started this process as one of a job, and MPI cannot be loaded: {}. Install the Open MPI "
          "that "
          "has this library (Debian: apt-get install openmpi-bin), or build dpreduce with the MPI of this cluster "
          "(pip install from the sources). Without a launcher no MPI is needed",
          dlerror()));
    }
    const auto make = reinterpret_cast<const MpiModule* (*)()>(dlsym(handle, kMpiModuleSymbol));
    DPREDUCE_ASSERT(make != nullptr);
    return make();
  }();
  return *module;
}

}  // namespace

JoinedJob join_mpi_job(const std::string& doubt) {
  return loaded_module().join(doubt);
}

int run_with_parent(const std::function<int(const JobPlace&)>& party, void (*before_the_end)() noexcept) {
  try {
    return loaded_module().parent(party, before_the_end);
  } catch (const AggregationAborted& error) {
    std::fprintf(stderr, "dpreduce: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}

}  // namespace dpreduce
