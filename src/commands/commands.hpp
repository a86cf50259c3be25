// The commands, one file each: all_commands.inc lists them.
#pragma once

#include "commands/command_line/command_entry.hpp"

namespace dpreduce {

/// `dpreduce` with all of its commands. Each call makes tables of its own, into which words are read once.
CommandEntry dpreduce_command();

#define COMMAND(group, file) CommandEntry file##_command();
#include "commands/all_commands.inc"
#undef COMMAND

}  // namespace dpreduce
