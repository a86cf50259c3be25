// One rank of a job, or one party among silos, from its arguments to its exit code.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/ranks/communicator.hpp"
#include "common/silos/wire.hpp"

namespace dpreduce {

/// Prints the message on standard error, as every message of the program begins. Returns the code as main does.
int report_error(const char* message, ExitCode code);

/// Runs what the arguments of rank 0 ask for, on all ranks of a job whose ranks trust each other, and returns the exit
/// code of this one. Collective. A failure is printed once, by the rank whose it is.
int run_job(const std::vector<std::string>& arguments, Communicator& ranks);

/// Runs the party of that rank of a run among silos, and returns its exit code. Parties do not share their failures; a
/// silo knows only what the coordinator sends it.
int run_party(const std::vector<std::string>& arguments, Wire& wire, int rank, int size);

}  // namespace dpreduce
