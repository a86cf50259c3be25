// The command of a job of ranks that trust each other.
#pragma once

#include <string>
#include <vector>

#include "commands/command_line/command_entry.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// What the arguments of rank 0 ask for, on every rank. The others were started with the same words, and read the same
/// in their --config; or with the command's name alone. What rank 0 was told, with what its files say, is sent to them,
/// and each reads it into a `root` of its own, one that was made for this call. Collective. Not among silos, where each
/// party reads arguments of its own. Throws as parse_command_line does (at rank 0; PeerFailed elsewhere), and
/// UsageError where a rank was told something else than rank 0 (unheard_words), or runs another version of the program.
RunnableCommand command_of_job(const CommandEntry& root, const std::vector<std::string>& arguments,
                               Communicator& ranks);

}  // namespace dpreduce
