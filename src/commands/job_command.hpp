// The command of a job of ranks that trust each other.
#pragma once

#include <string>
#include <vector>

#include "commands/command_line/command.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// What the arguments of rank 0 ask for, on every rank; those of the others are not looked at. Rank 0 alone reads
/// --config. Collective. Not among silos, where each party reads arguments of its own. Throws as parse_command_line
/// does (at rank 0; PeerFailed elsewhere), and UsageError where ranks run different versions of the program.
Command command_of_job(const std::vector<std::string>& arguments, Communicator& ranks);

}  // namespace dpreduce
