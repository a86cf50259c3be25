// MPI in a module of its own, for programs that must also start where there is no MPI: wheels of the Python package.
// The module is `_mpi.so` beside whatever holds the caller. It is of one MPI library, that which it was built with.
#pragma once

#include <functional>
#include <string>

#include "common/ranks/mpi_job.hpp"
#include "common/silos/wire.hpp"

namespace dpreduce {

inline constexpr const char* kMpiModule = "_mpi.so";

/// Members of the module: join_mpi_job and run_with_parent.
struct MpiModule {
  JoinedJob (*join)(const std::string& doubt);
  int (*parent)(const std::function<int(const JobPlace&)>& party, void (*before_the_end)() noexcept);
};

/// The name of the module's one symbol, a function without arguments that returns a pointer to its MpiModule.
inline constexpr const char* kMpiModuleSymbol = "dpreduce_mpi_module";

}  // namespace dpreduce
